"""Which tenant uses a connection next: those with something to do are served in turn.

A connection carries out one call at a time. A tenant in which nothing happens is not scheduled, so
that it costs nothing.
"""

import asyncio
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic, TypeVar

from tenure.runtime.keeper.runs.runner_group import RunnerGroup
from tenure.runtime.messages import Kind
from tenure.store.serial_connection import SerialConnection

if TYPE_CHECKING:
    from tenure.runtime.keeper.database.exchange import Exchange

# So that the database works on one call while the answer to the other is being handled.
EXCHANGE_CONNECTIONS = 2


class TenantQueue(ABC):
    """The calls that are due for one tenant."""

    _pauses = 0  # that have not ended
    _is_closed = False

    @property
    def is_ready(self) -> bool:
        return not self._pauses and not self._is_closed and self._has_work

    @property
    @abstractmethod
    def _has_work(self) -> bool:
        """True if there is a call to send now."""

    @abstractmethod
    async def run_once(self, line: SerialConnection) -> None: ...

    @abstractmethod
    def schedule(self) -> None: ...

    def pause(self, seconds: float) -> None:
        """Leave the connections to other tenants meanwhile.

        The timer ends the pause, not the clock: a timer may fire early by a rounding error.
        """
        self._pauses += 1
        asyncio.get_running_loop().call_later(seconds, self._end_pause)

    def _end_pause(self) -> None:
        self._pauses -= 1
        self.schedule()

    def close(self) -> None:
        """Its tenant is gone."""
        self._is_closed = True


Q = TypeVar("Q", bound=TenantQueue)


class Dispatcher(Generic[Q]):
    """Keeps two lines, and serves them alternately."""

    def __init__(self) -> None:
        self._urgent: dict[Q, None] = {}  # in order
        self._others: dict[Q, None] = {}
        self._wake = asyncio.Event()
        self.served = 0  # calls begun

    def schedule(self, queue: Q, *, urgent: bool = False) -> None:
        if urgent:
            self._others.pop(queue, None)
            self._urgent.setdefault(queue)
        elif queue not in self._urgent:
            self._others.setdefault(queue)
        self._wake.set()

    async def serve(self, line: SerialConnection) -> None:
        while True:
            queue = await self._next()
            await queue.run_once(line)
            self.schedule(queue)  # the answer may have given it something to do

    async def _next(self) -> Q:
        while True:
            while scheduled := self._next_line():
                queue = next(iter(scheduled))
                del scheduled[queue]
                if queue.is_ready:
                    self.served += 1
                    self.schedule(queue)  # there may be work for more than one call
                    return queue
                self._passed_over(queue)
            self._wake.clear()
            await self._wake.wait()

    def _next_line(self) -> dict[Q, None]:
        if self.served % 2:
            return self._others or self._urgent
        return self._urgent or self._others

    def _passed_over(self, queue: Q) -> None:
        """Handle a queue that is not ready."""


class ExchangeDispatcher(Dispatcher["Exchange"]):
    """Divides the free capacity of a worker among the tenants that are scheduled."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: dict[Exchange, None] = {}  # would claim more if there was capacity

    def capacity_freed(self) -> None:
        """Serve those next that have waited for capacity longest."""
        waiting, self._waiting = self._waiting, {}
        for exchange in waiting:
            self.schedule(exchange, urgent=True)

    def free(self, exchange: "Exchange", group: RunnerGroup) -> int:
        """Return how many jobs a group could take; none ahead while another tenant waits."""
        if any(other is not exchange for other in self._waiting):
            return min(group.free, max(group.capacity.free, 0))
        return group.free

    def share(self, exchange: "Exchange", kind: Kind, free: int) -> int:
        """Return how much of the free capacity an exchange may claim."""
        scheduled = (*self._urgent, *self._others)
        others = sum(other.wants_jobs(kind) for other in scheduled if other is not exchange)
        return -(-free // (others + 1))

    def _passed_over(self, queue: "Exchange") -> None:
        if queue.waits_for_capacity:
            self._waiting.setdefault(queue)
