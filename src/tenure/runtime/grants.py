"""Grants of limits and reservations of budgets, held by a block of a job's code."""

import asyncio
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from tenure.domain.budget import checked_amounts
from tenure.domain.limits import CALLS
from tenure.domain.values import finite_number
from tenure.errors import InputRefused
from tenure.runtime.runner.attempt import Attempt
from tenure.runtime.runner.blocks import Block
from tenure.runtime.steps.effects import Request, Work
from tenure.runtime.steps.scope import count_spending

H = TypeVar("H")

_MAX_RETRY_AFTER = 86_400.0  # seconds


class _Held(Block[H]):
    _name: str  # of the request

    def __init__(self, attempt: Attempt, asked: Mapping[str, Any]) -> None:
        super().__init__(attempt)
        self._asked = asked
        self._used: dict[str, float] | None = None
        self._number = 0
        self._is_open = False

    def used(self, **amounts: float) -> None:
        """Correct what was asked for by what was used; the last correction counts."""
        self._require_open()
        self._used = {**(self._used or {}), **checked_amounts(amounts, "used")}

    def _enter(self) -> Work[H]:
        if self._number:
            raise InputRefused("this block was entered before; call ctx.limit or ctx.reserve again")
        self._attempt.grants += 1
        self._number = self._attempt.grants
        try:
            is_granted = yield Request(self._name, {"number": self._number, **self._asked})
        except asyncio.CancelledError:
            self._withdraw()
            raise
        if not is_granted:
            raise InputRefused("the job ended before it was granted")
        self._is_open = True
        return cast("H", self)

    def _leave(self, error: BaseException | None) -> None:
        if self._is_open:
            self._is_open = False
            self._settle(error)

    def _withdraw(self) -> None:
        """Give it back unused, also if it is granted only later."""
        used = dict.fromkeys((CALLS, *self._asked.get("amounts", ())), 0)
        self._attempt.report(settled=({"number": self._number, "used": used, "withdrawn": True},))

    @abstractmethod
    def _settle(self, error: BaseException | None) -> None:
        """Report what was used of it."""

    def _require_open(self) -> None:
        if not self._is_open:
            raise InputRefused("this is for the inside of the block that holds it")


class LimitGrant(_Held["LimitGrant"]):
    """``async with ctx.limit("openai", tokens=1200) as grant:`` or ``with``."""

    _name = "grant"

    def __init__(self, attempt: Attempt, name: str, amounts: Mapping[str, float]) -> None:
        if amounts.get(CALLS, 1) < 1:
            raise InputRefused(f"a grant is for one call or more, not {amounts[CALLS]:g}")
        super().__init__(attempt, {"limit": name, "amounts": amounts})

    def throttled(self, retry_after: float) -> None:
        """Close the limit for all workers, because the other side refused the call."""
        seconds = finite_number(retry_after, "retry_after")
        if seconds < 0:
            raise InputRefused(f"retry_after is a number of seconds from 0 on, not {seconds:g}")
        self._require_open()
        closing = {"number": self._number, "retry_after": min(seconds, _MAX_RETRY_AFTER)}
        self._attempt.report(settled=(closing,))

    def _settle(self, _: BaseException | None) -> None:
        self._attempt.report(settled=({"number": self._number, "used": self._used or {}},))


class Reservation(_Held["Reservation"]):
    """``async with ctx.reserve(tokens=4000) as reserved:`` or ``with``.

    A block that ends without ``used`` spends all of it, unless it raises an Exception: then nothing
    was spent.
    """

    _name = "reserve"

    def __init__(self, attempt: Attempt, amounts: Mapping[str, float]) -> None:
        super().__init__(attempt, {"reserve": amounts})
        self._amounts = amounts

    def _settle(self, error: BaseException | None) -> None:
        spent: Mapping[str, Any] = self._used or {}
        if self._used is None and not isinstance(error, Exception):
            spent = self._amounts
        count_spending(spent)
        settled = {"number": self._number, "used": spent}
        self._attempt.report(spent=dict(spent) or None, settled=(settled,))
