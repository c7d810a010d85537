"""The cancellation records of a tenant, as far as they move: begun, moved on, ended."""

from collections.abc import Awaitable, Callable
from typing import Any

from tenure.control.polling import Event, record_event
from tenure.domain.cancellation import CancellationRecord
from tenure.errors import NotFound
from tenure.store.call import Call
from tenure.store.calls import queries
from tenure.store.results import Movements

AGAIN = 1000  # ends that may be told again; see movements.sql


class RecordChanges:
    """Tells each end once, and an open record when something of it has moved.

    Nothing is noted before all of a look was answered, so that an outage loses nothing.
    """

    def __init__(self, send: Callable[[Call[Any]], Awaitable[Any]]) -> None:
        self._send = send
        self._last: int | None = None
        self._marks: dict[str, str] = {}
        self._told: set[int] = set()

    async def ask(self) -> list[Event[CancellationRecord]]:
        told: Movements = await self._send(queries.movements(self._last))
        ends = {end.id: end.cancellation_id for end in told.ended if end.id not in self._told}
        is_first = self._last is None  # what it tells has ended before
        marks: dict[str, str] = {}
        events = []
        for record in told.open:
            name = record.cancellation_id
            if self._marks.get(name) == record.mark:
                marks[name] = record.mark
            elif (event := await self._seen(name)) and not event.is_last:
                # One that has ended meanwhile is told as an end, by the next look.
                marks[name] = record.mark
                events.append(event)
        ended = [await self._seen(name) for name in ends.values() if not is_first]
        self._marks, self._last = marks, told.last
        self._told = {end for end in self._told | ends.keys() if end > told.last - AGAIN}
        return events + [event for event in ended if event is not None]

    async def _seen(self, name: str) -> Event[CancellationRecord] | None:
        try:
            return record_event(await self._send(queries.cancellation(name)))
        except NotFound:
            return None  # pruned already
