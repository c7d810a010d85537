"""A slot is given back by the last block of its job that holds it."""

from types import SimpleNamespace
from typing import Any

import pytest

from tenure.runtime.context import Context


class SlotAttempt:
    """The part of an attempt that a slot uses."""

    def __init__(self, slots: dict[str, str] | None = None) -> None:
        self.given: list[str] = []
        self.answer: Any = "left"
        self.work = SimpleNamespace(run=1, slots=slots, checkpoint=None)

    def request(self, *_: Any) -> Any:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer

    def report(self, give: tuple[str, ...]) -> None:
        self.given += give


def test_a_block_inside_another_does_not_give_the_slot_away() -> None:
    attempt: Any = SlotAttempt()
    ctx = Context(attempt)
    with ctx.slot("beds") as outer:
        with ctx.slot("beds") as inner:
            assert inner == outer
        assert attempt.given == [], "the outer block still works with it"
    assert attempt.given == ["beds"]


def test_a_slot_that_the_job_was_started_with_is_its_own_to_the_end() -> None:
    attempt: Any = SlotAttempt({"beds": "left"})
    with Context(attempt).slot("beds"):
        pass
    assert attempt.given == []


def test_who_gives_up_waiting_gives_back_what_may_have_been_granted_meanwhile() -> None:
    attempt: Any = SlotAttempt()
    attempt.answer = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt), Context(attempt).slot("beds"):
        pass
    assert attempt.given == ["beds"]
