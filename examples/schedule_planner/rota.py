"""Who works when: every shift has its people, nobody works too much, and all work alike."""

from collections.abc import Callable
from typing import Any, TypedDict

from ortools.sat.python import cp_model

WEEK = 7
MOST_DAYS = 5  # of any seven that anybody works
SATURDAY = 5


class Solution(TypedDict):
    unfairness: int  # how far people differ: in shifts, in weekends, in each kind of shift
    shifts: list[list[list[int]]]  # day, shift: the people on it


class Rota:
    """The demand is a list of days, each with the number of people for each of its shifts."""

    def __init__(self, demand: list[list[int]], workers: int) -> None:
        self.model = cp_model.CpModel()
        self._demand, self._people, self._days = demand, range(workers), range(len(demand))
        self._on = {
            (who, day, shift): self.model.new_bool_var(f"{who} works shift {shift} of day {day}")
            for who in self._people
            for day in self._days
            for shift in self._shifts(day)
        }
        self._meet_the_demand()
        self._let_people_rest()
        everything = list(self._on)
        weekends = [key for key in everything if key[1] % WEEK >= SATURDAY]
        kinds = {shift for _, _, shift in everything}
        alike = [[key for key in everything if key[2] == kind] for kind in kinds]
        self._unfairness = sum(map(self._spread, [everything, weekends, *alike]))
        self.model.minimize(self._unfairness)

    def plan(self, value: Callable[[Any], int]) -> Solution:
        return {
            "unfairness": value(self._unfairness),
            "shifts": [
                [
                    [who for who in self._people if value(self._on[who, day, shift])]
                    for shift in self._shifts(day)
                ]
                for day in self._days
            ],
        }

    def _meet_the_demand(self) -> None:
        for day in self._days:
            for shift, needed in enumerate(self._demand[day]):
                self.model.add(sum(self._on[who, day, shift] for who in self._people) == needed)

    def _let_people_rest(self) -> None:
        """One shift a day, no early shift after a late one, at most five days of any seven."""
        for who in self._people:
            for day in self._days:
                self.model.add_at_most_one(self._on[who, day, shift] for shift in self._shifts(day))
            for day in self._days[1:]:
                late = len(self._demand[day - 1]) - 1
                self.model.add_at_most_one(self._on[who, day - 1, late], self._on[who, day, 0])
            for first in self._days[: 1 - WEEK]:
                days = range(first, first + WEEK)
                worked = sum(
                    self._on[who, day, shift] for day in days for shift in self._shifts(day)
                )
                self.model.add(worked <= MOST_DAYS)

    def _spread(self, shifts: list[tuple[int, int, int]]) -> Any:
        """Return the difference between who works most and who works least of these shifts."""
        most = self.model.new_int_var(0, len(self._days), "most")
        least = self.model.new_int_var(0, len(self._days), "least")
        for person in self._people:
            works = sum(self._on[key] for key in shifts if key[0] == person)
            self.model.add(works <= most)
            self.model.add(works >= least)
        return most - least

    def _shifts(self, day: int) -> range:
        return range(len(self._demand[day]))
