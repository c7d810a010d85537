"""Whom a worker serves next: who has moved, who is in turn, and who may have how much room."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import uvloop

from tenure.runtime.keeper.desks import Customer, Desks, ExchangeDesks
from tenure.runtime.keeper.exchange import Exchange
from tenure.runtime.keeper.stirs import Stirs, Turns
from tenure.store.results import TenantActivity
from tenure.store.serial_connection import SerialConnection


def heard(stirs: Stirs, number: int, open: int, next: int) -> bool:  # noqa: A002
    return stirs.heard(TenantActivity(open, next, {"acme": number})) == ["acme"]


def test_who_has_moved_is_looked_at_until_nothing_can_follow() -> None:
    stirs = Stirs(cast(Any, SimpleNamespace(exchanges={})))
    assert not heard(stirs, 0, 9, 9), "nothing has ever happened there"
    assert heard(stirs, 1, 10, 10), "nobody has looked yet"
    assert heard(stirs, 1, 10, 12), "what moved it may not even be a transaction yet"
    assert heard(stirs, 1, 11, 15), "transaction 11 is under way"
    assert heard(stirs, 1, 12, 15), "by now all is committed: a last look"
    assert not heard(stirs, 1, 13, 15)
    assert not heard(stirs, 1, 15, 15)
    assert heard(stirs, 2, 15, 15)
    assert heard(stirs, 2, 15, 15)
    assert heard(stirs, 3, 15, 15), "it has moved meanwhile: all begins anew"
    assert heard(stirs, 3, 15, 16)
    assert heard(stirs, 3, 16, 16)
    assert not heard(stirs, 3, 16, 16)


def test_everybody_has_a_turn_before_anybody_comes_again() -> None:
    everybody = dict.fromkeys("abc")
    turns = Turns(everybody)
    assert turns.next() + turns.next() + turns.next() == ["a", "b", "c"]
    assert turns.next(2) == ["a", "b"]
    everybody["d"] = None
    del everybody["c"]
    assert turns.next(2) == ["a", "b"]
    assert turns.next(9) == ["d", "a", "b"]
    everybody.clear()
    assert turns.next() == []


class Tenant(Customer):
    """Has something to do, so often."""

    def __init__(self, name: str, times: int, served: list[str]) -> None:
        self.name, self.times, self.served = name, times, served
        self.desks: Desks[Tenant] = Desks()

    def line_up(self) -> None:
        self.desks.line_up(self)

    @property
    def _is_waiting(self) -> bool:
        return self.times > 0

    async def run_once(self, _line: SerialConnection) -> None:
        self.times -= 1
        self.served.append(self.name)
        await asyncio.sleep(0)


def test_tenants_are_served_in_turn_and_who_is_awaited_first() -> None:
    async def main() -> list[str]:
        desks: Desks[Tenant] = Desks()
        served: list[str] = []
        a, b, c = (Tenant(name, times, served) for name, times in (("a", 3), ("b", 2), ("c", 1)))
        desks.line_up(a)
        desks.line_up(b)
        desks.line_up(c, awaited=True)
        desk = asyncio.create_task(desks.serve(cast(Any, None)))
        await asyncio.sleep(0.01)
        a.times = 1
        desks.line_up(a)
        await asyncio.sleep(0.01)
        desk.cancel()
        return served

    assert asyncio.run(main()) == ["c", "a", "b", "a", "b", "a", "a"]


def test_one_that_is_always_awaited_does_not_keep_the_others_waiting() -> None:
    async def main() -> list[str]:
        desks: Desks[Tenant] = Desks()
        served: list[str] = []
        loud, a, b = (Tenant(name, 4, served) for name in ("loud", "a", "b"))
        for tenant in (a, b):
            desks.line_up(tenant)
        desk = asyncio.create_task(desks.serve(cast(Any, None)))
        while a.times or b.times:
            loud.times = 4
            desks.line_up(loud, awaited=True)
            await asyncio.sleep(0)
        desk.cancel()
        return served

    assert asyncio.run(main())[:8] == ["loud", "a", "loud", "b", "loud", "a", "loud", "b"]


class Resting(Tenant):
    """Is told each time to come again in a moment, five times."""

    def __init__(self, pause: float) -> None:
        super().__init__("resting", 5, [])
        self.pause, self.is_through = pause, asyncio.Event()

    async def run_once(self, line: SerialConnection) -> None:
        await super().run_once(line)
        self.rest(self.pause)
        if not self.times:
            self.is_through.set()


def test_whoever_rests_is_served_again_whatever_the_clock_has_rounded() -> None:
    async def main() -> None:
        # The loop of a keeper counts in milliseconds, so that sums are a little more, or less.
        tenants = [Resting(n / 1000) for n in range(1, 41)]
        for tenant in tenants:
            tenant.line_up()
        desks = [asyncio.create_task(one.desks.serve(cast(Any, None))) for one in tenants]
        async with asyncio.timeout(5):
            for tenant in tenants:
                await tenant.is_through.wait()
        for desk in desks:
            desk.cancel()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())


class Hungry:
    """An exchange that would claim all it can, once."""

    waits_for_room = True

    def __init__(self, desks: ExchangeDesks, room: list[int]) -> None:
        self.desks, self.room, self.claims = desks, room, list[int]()
        self.hungry = True

    def has_appetite_for(self, _kind: str) -> bool:
        return self.hungry and self.room[0] > 0

    @property
    def has_something_to_do(self) -> bool:
        return self.has_appetite_for("async")

    async def run_once(self, _line: SerialConnection) -> None:
        n = self.desks.share(cast(Exchange, self), "async", self.room[0])
        self.hungry = False
        self.room[0] -= n
        self.claims.append(n)


def test_what_room_there_is_is_divided_among_those_who_would_have_it() -> None:
    async def main() -> None:
        desks = ExchangeDesks()
        room = [10]
        tenants = [Hungry(desks, room) for _ in range(3)]
        for tenant in tenants:
            desks.line_up(cast(Exchange, tenant))
        desk = asyncio.create_task(desks.serve(cast(Any, None)))
        await asyncio.sleep(0.01)
        assert [tenant.claims for tenant in tenants] == [[4], [3], [3]]
        for tenant in tenants:
            tenant.hungry = True
        for _ in tenants:
            room[0] += 1
            desks.there_is_room()
            await asyncio.sleep(0.01)
        assert [tenant.claims for tenant in tenants] == [[4, 1], [3, 1], [3, 1]]
        desk.cancel()

    asyncio.run(main())
