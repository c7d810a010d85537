"""A slot of a pool, held by a block of a job's code."""

from collections.abc import Iterable

from tenure.errors import InputRefused
from tenure.runtime.runner.attempt import Attempt
from tenure.runtime.runner.blocks import Block
from tenure.runtime.steps.effects import Request, Work


class SlotHolds:
    """Counts the blocks of a job that hold its slot of each pool.

    A job has one slot of a pool, no matter how many blocks ask for it; the last block to end frees
    it. A slot that the job was started with stays its own until it ends.
    """

    def __init__(self, own: Iterable[str]) -> None:
        # Lists, because append and pop are atomic: an interrupt cannot hit a held lock.
        self._blocks: dict[str, list[None]] = {pool: [None] for pool in own}

    def enter(self, pool: str) -> None:
        self._blocks.setdefault(pool, []).append(None)

    def leave(self, pool: str) -> bool:
        """Return whether no block holds the slot any more."""
        self._blocks[pool].pop()
        return not self._blocks[pool]


class SlotHold(Block[str]):
    """``with ctx.slot("gpu") as name:`` or ``async with``; waits until a slot is free."""

    def __init__(self, attempt: Attempt, pool: str, holds: SlotHolds) -> None:
        super().__init__(attempt)
        self._pool = pool
        self._holds = holds

    def _enter(self) -> Work[str]:
        self._holds.enter(self._pool)
        try:
            slot: str | None = yield Request("slot", self._pool)
        except BaseException:
            self._leave(None)
            raise
        if slot is None:
            self._leave(None)
            raise InputRefused(f"the job ended before a slot of {self._pool!r} was free")
        return slot

    def _leave(self, _: BaseException | None) -> None:
        if self._holds.leave(self._pool):
            self._attempt.report(give=(self._pool,))
