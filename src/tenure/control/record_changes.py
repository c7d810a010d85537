"""The changes of the stop records of a tenant: opened, changed, closed."""

from collections.abc import Awaitable, Callable
from typing import Any

from tenure.control.polling import Event, record_event
from tenure.domain.cancellation import CancellationRecord
from tenure.errors import NotFound
from tenure.store.call import Call
from tenure.store.calls import queries
from tenure.store.results import Movements

AGAIN = 1000  # ends that may be reported again; see movements.sql


class RecordChanges:
    """Reports each closed record once, and an open record at each change.

    State changes only after every query of a poll was answered, so that an outage loses nothing.
    """

    def __init__(self, send: Callable[[Call[Any]], Awaitable[Any]]) -> None:
        self._send = send
        self._last: int | None = None
        self._marks: dict[str, str] = {}
        self._reported: set[int] = set()

    async def ask(self) -> list[Event[CancellationRecord]]:
        moved: Movements = await self._send(queries.movements(self._last))
        ends = {end.id: end.cancellation_id for end in moved.ended if end.id not in self._reported}
        is_first = self._last is None  # the ends it reports are old
        marks: dict[str, str] = {}
        events = []
        for record in moved.open:
            name = record.cancellation_id
            if self._marks.get(name) == record.mark:
                marks[name] = record.mark
            elif (event := await self._seen(name)) and not event.is_last:
                # A record that was closed meanwhile is reported by the next poll.
                marks[name] = record.mark
                events.append(event)
        ended = [await self._seen(name) for name in ends.values() if not is_first]
        self._marks, self._last = marks, moved.last
        self._reported = {end for end in self._reported | ends.keys() if end > moved.last - AGAIN}
        return events + [event for event in ended if event is not None]

    async def _seen(self, name: str) -> Event[CancellationRecord] | None:
        try:
            return record_event(await self._send(queries.cancellation(name)))
        except NotFound:
            return None  # pruned already
