"""Who talks to the database for whom: all tenants line up, and are served in turn.

A desk is a connection, and carries out one call at a time. A tenant in which nothing happens does
not line up, so that it costs nothing.
"""

import asyncio
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic, TypeVar

from tenure.runtime.messages import Kind
from tenure.store.serial_connection import SerialConnection

if TYPE_CHECKING:
    from tenure.runtime.keeper.exchange import Exchange

# So that the database works on one call while the answer to the other is being handled.
EXCHANGE_DESKS = 2


class Customer(ABC):
    """What one tenant has to say or to ask."""

    _rests = 0  # pauses that are not over
    _is_closed = False

    @property
    def has_something_to_do(self) -> bool:
        return not self._rests and not self._is_closed and self._is_waiting

    @property
    @abstractmethod
    def _is_waiting(self) -> bool:
        """Whether there is something that it would say or ask now."""

    @abstractmethod
    async def run_once(self, line: SerialConnection) -> None: ...

    @abstractmethod
    def line_up(self) -> None: ...

    def rest(self, seconds: float) -> None:
        """The desks are for others meanwhile.

        It is over when the timer says so: by the clock a timer may be early, by a rounding.
        """
        self._rests += 1
        asyncio.get_running_loop().call_later(seconds, self._rested)

    def _rested(self) -> None:
        self._rests -= 1
        self.line_up()

    def close(self) -> None:
        """Its tenant is gone."""
        self._is_closed = True


C = TypeVar("C", bound=Customer)


class Desks(Generic[C]):
    """There are two lines, and the next comes from one and from the other in turn."""

    def __init__(self) -> None:
        self._awaited: dict[C, None] = {}  # in order: for whom somebody waits
        self._others: dict[C, None] = {}
        self._somebody = asyncio.Event()
        self._served = 0

    def line_up(self, customer: C, *, awaited: bool = False) -> None:
        if awaited:
            self._others.pop(customer, None)
            self._awaited.setdefault(customer)
        elif customer not in self._awaited:
            self._others.setdefault(customer)
        self._somebody.set()

    async def serve(self, line: SerialConnection) -> None:
        while True:
            customer = await self._next()
            await customer.run_once(line)
            self.line_up(customer)  # what it heard may have given it something to do

    async def _next(self) -> C:
        while True:
            while standing := self._next_standing():
                customer = next(iter(standing))
                del standing[customer]
                if customer.has_something_to_do:
                    self._served += 1
                    self.line_up(customer)  # there may be more than one call is for
                    return customer
                self._passed_over(customer)
            self._somebody.clear()
            await self._somebody.wait()

    def _next_standing(self) -> dict[C, None]:
        if self._served % 2:
            return self._others or self._awaited
        return self._awaited or self._others

    def _passed_over(self, customer: C) -> None:
        """It has nothing to do."""


class ExchangeDesks(Desks["Exchange"]):
    """Tenants share what room a worker has: what is there is divided among those who line up."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: dict[Exchange, None] = {}  # who would claim more, if there was room

    def there_is_room(self) -> None:
        """Those who wait for it longest are next."""
        waiting, self._waiting = self._waiting, {}
        for exchange in waiting:
            self.line_up(exchange, awaited=True)

    def share(self, exchange: "Exchange", kind: Kind, room: int) -> int:
        """How much of the room one of them may claim."""
        there = (*self._awaited, *self._others)
        others = sum(one.has_appetite_for(kind) for one in there if one is not exchange)
        return -(-room // (others + 1))

    def _passed_over(self, customer: "Exchange") -> None:
        if customer.waits_for_room:
            self._waiting.setdefault(customer)
