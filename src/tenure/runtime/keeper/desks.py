"""Who talks to the database for whom: all tenants line up, and are served in turn.

A desk is a connection, and carries out one call at a time. A tenant in which nothing happens does
not line up, so that it costs nothing.
"""

import asyncio
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from tenure.runtime.messages import Kind
from tenure.store.line import Line

if TYPE_CHECKING:
    from tenure.runtime.keeper.exchange import Exchange

# So that the database works on one call while the answer to the other is being handled.
EXCHANGE_DESKS = 2


class Client(Protocol):
    """What one tenant has to say or to ask."""

    @property
    def has_something_to_do(self) -> bool: ...

    async def run_once(self, line: Line) -> None: ...


C = TypeVar("C", bound=Client)


class Desks(Generic[C]):
    def __init__(self) -> None:
        self._line: dict[C, None] = {}  # in order
        self._somebody = asyncio.Event()

    def line_up(self, client: C, *, first: bool = False) -> None:
        """First, because somebody waits for it; else behind the others."""
        if first:
            self._line.pop(client, None)
            self._line = {client: None, **self._line}
        else:
            self._line.setdefault(client)
        self._somebody.set()

    async def serve(self, line: Line) -> None:
        while True:
            client = await self._next()
            await client.run_once(line)
            self.line_up(client)  # what it heard may have given it something to do

    async def _next(self) -> C:
        while True:
            while self._line:
                client = next(iter(self._line))
                del self._line[client]
                if client.has_something_to_do:
                    self._line[client] = None  # there may be more than one call is for
                    return client
                self._passed_over(client)
            self._somebody.clear()
            await self._somebody.wait()

    def _passed_over(self, client: C) -> None:
        """It has nothing to do."""


class ExchangeDesks(Desks["Exchange"]):
    """Tenants share what room a worker has: what is there is divided among those who line up."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: dict[Exchange, None] = {}  # who would claim more, if there was room

    def there_is_room(self) -> None:
        """Those who wait for it longest are next."""
        if self._waiting:
            self._line = {**self._waiting, **self._line}
            self._waiting.clear()
            self._somebody.set()

    def share(self, exchange: "Exchange", kind: Kind, room: int) -> int:
        """How much of the room one of them may claim."""
        others = sum(one.has_appetite_for(kind) for one in self._line if one is not exchange)
        return -(-room // (others + 1))

    def _passed_over(self, client: "Exchange") -> None:
        if client.waits_for_room:
            self._waiting.setdefault(client)
