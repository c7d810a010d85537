"""A slot of a pool, held by a block of a job's code."""

from types import TracebackType

from tenure.errors import InputRefused
from tenure.runtime.runner.attempt import Attempt


class SlotHold:
    """``with ctx.slot("gpu") as name:`` or ``async with``; waits until one is free."""

    def __init__(self, attempt: Attempt, pool: str) -> None:
        self._attempt = attempt
        self._pool = pool

    def __enter__(self) -> str:
        return self._got(self._attempt.link.ask(self._attempt.work.run, "slot", self._pool))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._attempt.say(give=(self._pool,))

    async def __aenter__(self) -> str:
        return self._got(await self._attempt.link.aask(self._attempt.work.run, "slot", self._pool))

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._attempt.say(give=(self._pool,))

    def _got(self, slot: str | None) -> str:
        if slot is None:
            raise InputRefused(f"the job ended before a slot of {self._pool!r} was free")
        return slot
