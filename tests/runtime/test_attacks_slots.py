"""A slot is given back by the last block of its job that holds it."""

from types import SimpleNamespace
from typing import Any

import pytest

from tenure.runtime.context import Context


class Said:
    """As much of an attempt as a slot needs."""

    def __init__(self, slots: dict[str, str] | None = None) -> None:
        self.given: list[str] = []
        self.answer: Any = "left"
        self.work = SimpleNamespace(run=1, slots=slots, checkpoint=None)
        self.link = SimpleNamespace(ask=self._ask)

    def _ask(self, *_: Any) -> Any:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer

    def say(self, give: tuple[str, ...]) -> None:
        self.given += give


def test_a_block_inside_another_does_not_give_the_slot_away() -> None:
    said: Any = Said()
    ctx = Context(said)
    with ctx.slot("beds") as outer:
        with ctx.slot("beds") as inner:
            assert inner == outer
        assert said.given == [], "the outer block still works with it"
    assert said.given == ["beds"]


def test_a_slot_that_the_job_was_started_with_is_its_own_to_the_end() -> None:
    said: Any = Said({"beds": "left"})
    with Context(said).slot("beds"):
        pass
    assert said.given == []


def test_who_gives_up_waiting_gives_back_what_may_have_been_granted_meanwhile() -> None:
    said: Any = Said()
    said.answer = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt), Context(said).slot("beds"):
        pass
    assert said.given == ["beds"]
