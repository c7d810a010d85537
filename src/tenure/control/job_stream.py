"""The stream of a job: its partial results and log lines, each once, its progress and its status.

Output is numbered, so a reader that comes back with its last number misses nothing. Progress and
status are states: a reader gets the newest, and comes back with a mark of the one it knows.

All readers of a job share one repeated query and the output that it has found. A reader that is
further back reads pages from the database until it has caught up; readers at the same number share
the page. So a slow reader costs at most one page of memory, whatever the job emits.
"""

import asyncio
import re
import zlib
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from datetime import datetime
from typing import NamedTuple

import msgspec

from tenure.control.polling import Reader, RepeatedQuery
from tenure.domain.bounds import LARGEST_ID
from tenure.domain.job import JSON
from tenure.domain.lifecycle import ENDED
from tenure.domain.values import shown
from tenure.errors import InputRefused, StoreUnavailable
from tenure.store.results import Output, StreamPage

BREATH = 0.02  # seconds from one poll to the next
RETRY_AFTER = 1.0  # seconds until a page that could not be read is asked for again
MAX_KEPT = 500  # items for readers that are almost up to date
_ID = re.compile(r"([0-9]{1,19})(?:\.([0-9a-f]{0,8})\.([0-9a-f]{0,8}))?")

Ask = Callable[[int | None, bool], Awaitable[StreamPage]]
Reading = AbstractAsyncContextManager[tuple["OutputQuery", Reader]]


class StreamItem(msgspec.Struct, frozen=True):
    """One item of the stream of a job."""

    kind: str  # partial, log, progress or status; expect further kinds
    value: JSON
    id: str  # `after` for a reader that comes back
    at: datetime | None = None  # of a partial result or a log line


class StreamBatch:
    """Items that were found together, shared by all readers at the same position."""

    def __init__(self, items: Sequence[StreamItem]) -> None:
        self.items = items
        self.encoded: bytes | None = None  # kept by code that sends them to many readers


class Position(NamedTuple):
    """The position of a reader: the newest output and the states that it has received."""

    number: int = 0  # of its newest output
    status: str = ""  # the mark of the status that it knows
    progress: str = ""

    @property
    def id(self) -> str:
        return f"{self.number}.{self.status}.{self.progress}"


def read_position(after: int | str) -> Position:
    """Return a position from the id of an item, or from the number of a partial result."""
    if isinstance(after, int | str) and not isinstance(after, bool):
        match = _ID.fullmatch(str(after))
        if match is not None and int(match[1]) <= LARGEST_ID:
            return Position(int(match[1]), match[2] or "", match[3] or "")
    raise InputRefused(
        f"after: it takes the id of an item or the number of a partial result, not {shown(after)}"
    )


class OutputQuery(RepeatedQuery[StreamPage]):
    """The repeated query of what a job has put out, for all readers of its stream."""

    breath = BREATH
    is_notified = True

    def __init__(self, ask: Ask, every: float) -> None:
        super().__init__(every)
        self._send = ask
        self._kept: deque[Output] = deque()
        self._kept_above = 0  # all output above this number and up to the newest is kept
        self._pages: dict[int, asyncio.Future[StreamPage]] = {}
        self.newest = 0  # number that was seen; `is_complete`: that there is
        self.is_complete = False
        self.seen: StreamPage | None = None
        self._next: dict[Position, tuple[StreamBatch, Position]] = {}  # since the last answer

    async def _ask(self) -> StreamPage:
        return await self._send(self.newest if self.answered else None, True)

    def _keep(self, answer: StreamPage) -> bool:
        before, self.seen = self.seen, answer
        self._next.clear()
        if before is None:
            self.newest = self._kept_above = answer.newest
        if answer.items:
            self._kept += answer.items
            self.newest = answer.items[-1].number
            while len(self._kept) > MAX_KEPT:
                self._kept_above = self._kept.popleft().number
        self.is_complete = self.newest >= answer.newest
        if not self.is_complete:
            self.wake()
        self.is_over = self.is_complete and answer.state in ENDED
        return before is None or bool(answer.items) or self.is_over or _differ(before, answer)

    def known(self, position: Position) -> tuple[StreamBatch, Position] | None:
        """Return what follows a position if another reader has asked since the last answer."""
        return self._next.get(position)

    async def after(self, position: Position) -> tuple[StreamBatch, Position]:
        """Return what follows a position, and the position after it."""
        is_kept = self._kept_above <= position.number <= self.newest
        found, last = await self._above(position.number)
        items, moved = [], position
        for output in found:
            moved = moved._replace(number=output.number)
            items.append(StreamItem(output.kind, output.value, moved.id, output.at))
        moved = moved._replace(number=max(moved.number, last))
        # The state that was seen belongs to the newest output: it never overtakes any.
        if self.seen is not None and self.is_current(moved):
            moved = _add_states(items, self.seen, moved)
        following = StreamBatch(items), moved
        if is_kept:
            self._next[position] = following
        return following

    def is_current(self, position: Position) -> bool:
        """Tell whether a position is behind all output that there is."""
        return self.is_complete and position.number >= self.newest

    async def _above(self, number: int) -> tuple[Sequence[Output], int]:
        """Return the next output above a number, and the number up to which that is all."""
        if self._kept_above <= number <= self.newest:
            return [output for output in self._kept if output.number > number], self.newest
        page = self._pages.get(number)
        if page is None:
            page = self._pages[number] = asyncio.ensure_future(self._send(number, False))
            page.add_done_callback(lambda done: self._forget(number, done))
        answer = await asyncio.shield(page)
        return answer.items, answer.items[-1].number if answer.items else answer.newest

    def _forget(self, number: int, done: asyncio.Future[StreamPage]) -> None:
        del self._pages[number]
        if not done.cancelled():
            done.exception()  # is raised in every reader that still waits


async def read_stream(reading: Reading, position: Position) -> AsyncGenerator[StreamBatch]:
    """Yield what follows a position, until the job has ended.

    No other generator is between the query and the code that sends: a thousand readers would pay
    for it with each item.
    """
    async with reading as (query, reader):
        while await reader.is_ready():
            try:
                batch, position = query.known(position) or await query.after(position)
            except StoreUnavailable:
                # It may have been this page alone: then the query has no news to wake readers for.
                with suppress(TimeoutError):
                    async with asyncio.timeout(RETRY_AFTER):
                        await reader.wait()
                continue
            is_over = query.is_over and query.is_current(position)
            if batch.items:
                yield batch
            if is_over:
                return
            if position.number >= query.newest:
                await reader.wait()


def _add_states(items: list[StreamItem], seen: StreamPage, position: Position) -> Position:
    progress, status = _mark(seen.progress), _mark(_status(seen))
    if progress != position.progress and seen.progress is not None:
        position = position._replace(progress=progress)
        items.append(StreamItem("progress", seen.progress, position.id))
    if status != position.status:
        position = position._replace(status=status)
        items.append(StreamItem("status", _status(seen), position.id))
    return position


def _status(seen: StreamPage) -> dict[str, JSON]:
    status = {"status": str(seen.status), "attempt": seen.attempt, "reason": seen.reason}
    return status if seen.question is None else {**status, "question": seen.question}


def _mark(value: JSON) -> str:
    return f"{zlib.crc32(msgspec.json.encode(value, order='deterministic')):08x}"


def _differ(before: StreamPage, now: StreamPage) -> bool:
    """Tell whether its progress or its status has changed."""
    return (before.progress, _status(before)) != (now.progress, _status(now))
