"""Grants of limits and reservations of budgets, held by a block of a job's code."""

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from tenure.domain.budget import checked_amounts
from tenure.domain.job import JSON
from tenure.domain.limits import CALLS
from tenure.domain.values import finite_number
from tenure.errors import InputRefused
from tenure.runtime.runner.attempt import Attempt
from tenure.runtime.steps.scope import count_spending

_MAX_RETRY_AFTER = 86_400.0  # seconds


class _Held:
    """Something that is requested when a block begins and settled when it ends."""

    _name: str  # of the request
    _ended = "the job ended before it was granted"

    def __init__(self, attempt: Attempt, asked: Mapping[str, JSON]) -> None:
        self._attempt = attempt
        self._asked = asked
        self._used: dict[str, float] | None = None
        self._number = 0
        self._is_open = False

    def used(self, **amounts: float) -> None:
        """Correct what was asked for by what was used; the last correction counts."""
        self._require_open()
        self._used = {**(self._used or {}), **checked_amounts(amounts, "used")}

    def __enter__(self) -> Self:
        return self._entered(self._attempt.request(self._name, self._request()))

    async def __aenter__(self) -> Self:
        return self._entered(await self._attempt.arequest(self._name, self._request()))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._close(error)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._close(error)

    def _close(self, error: BaseException | None) -> None:
        if self._is_open:
            self._is_open = False
            self._settle(error)

    def _request(self) -> Mapping[str, JSON]:
        if self._number:
            raise InputRefused("this block was entered before; call ctx.limit or ctx.reserve again")
        self._attempt.grants += 1
        self._number = self._attempt.grants
        return {"number": self._number, **self._asked}

    def _entered(self, granted: bool) -> Self:
        if not granted:
            raise InputRefused(self._ended)
        self._is_open = True
        return self

    def _require_open(self) -> None:
        if not self._is_open:
            raise InputRefused("this is for the inside of the block that holds it")

    def _settle(self, error: BaseException | None, /) -> None:
        raise NotImplementedError


class LimitGrant(_Held):
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

    def _settle(self, _: BaseException | None, /) -> None:
        self._attempt.report(settled=({"number": self._number, "used": self._used or {}},))


class Reservation(_Held):
    """``async with ctx.reserve(tokens=4000) as reserved:`` or ``with``.

    A block that ends without ``used`` spends all of it, unless it raises an Exception: then nothing
    was spent.
    """

    _name = "reserve"

    def __init__(self, attempt: Attempt, amounts: Mapping[str, float]) -> None:
        super().__init__(attempt, {"reserve": amounts})
        self._amounts = amounts

    def _settle(self, error: BaseException | None, /) -> None:
        spent: Mapping[str, Any] = self._used or {}
        if self._used is None and not isinstance(error, Exception):
            spent = self._amounts
        count_spending(spent)
        settled = {"number": self._number, "used": spent}
        self._attempt.report(spent=dict(spent) or None, settled=(settled,))
