"""Who works when: every shift has its people, nobody two shifts a day, and all about the same."""

from collections.abc import Callable
from typing import Any, TypedDict

from ortools.sat.python import cp_model


class Solution(TypedDict):
    unfairness: int  # shifts between who works most and who works least
    shifts: list[list[list[int]]]  # day, shift: the people on it


class Rota:
    def __init__(self, demand: list[list[int]], workers: int) -> None:
        self.model = model = cp_model.CpModel()
        self._demand, self._workers = demand, workers
        people, days = range(workers), range(len(demand))
        self._on = {
            (who, day, shift): model.new_bool_var(f"{who} works shift {shift} of day {day}")
            for who in people
            for day in days
            for shift in range(len(demand[day]))
        }
        for day in days:
            for shift, needed in enumerate(demand[day]):
                model.add(sum(self._on[who, day, shift] for who in people) == needed)
            for who in people:
                model.add_at_most_one(self._on[who, day, shift] for shift in self._shifts(day))
        for who in people:  # after a late shift no early one
            for day in days[1:]:
                late = len(demand[day - 1]) - 1
                model.add_at_most_one(self._on[who, day - 1, late], self._on[who, day, 0])
        most = model.new_int_var(0, len(demand), "the most shifts of anybody")
        least = model.new_int_var(0, len(demand), "the fewest")
        for who in people:
            works = sum(on for (one, _, _), on in self._on.items() if one == who)
            model.add(works <= most)
            model.add(works >= least)
        self._unfair = most - least
        model.minimize(self._unfair)

    def plan(self, value: Callable[[Any], int]) -> Solution:
        return {
            "unfairness": value(self._unfair),
            "shifts": [
                [
                    [who for who in range(self._workers) if value(self._on[who, day, shift])]
                    for shift in self._shifts(day)
                ]
                for day in range(len(self._demand))
            ],
        }

    def _shifts(self, day: int) -> range:
        return range(len(self._demand[day]))
