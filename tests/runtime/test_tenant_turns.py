"""Whom a worker serves next: who has moved, who is in turn, and who may have how much room."""

import asyncio
from datetime import timedelta
from typing import Any, cast

import uvloop

from tenure.runtime.keeper.database.activity import RoundRobin, TenantActivityWatch
from tenure.runtime.keeper.database.dispatcher import Dispatcher, ExchangeDispatcher, TenantQueue
from tenure.runtime.keeper.database.exchange import Exchange
from tenure.store.results import TenantActivity
from tenure.store.serial_connection import SerialConnection


def is_news(watch: TenantActivityWatch, number: int, open: int, next: int) -> bool:  # noqa: A002
    return watch.unsettled(TenantActivity(open, next, {"acme": number})) == ["acme"]


def test_who_has_moved_is_looked_at_until_nothing_can_follow() -> None:
    nobody: Any = None
    watch = TenantActivityWatch(
        None, nobody, {}, nobody, timedelta(1), on_found=nobody, on_gone=nobody
    )
    assert not is_news(watch, 0, 9, 9), "nothing has ever happened there"
    assert is_news(watch, 1, 10, 10), "nobody has looked yet"
    assert is_news(watch, 1, 10, 12), "what moved it may not even be a transaction yet"
    assert is_news(watch, 1, 11, 15), "transaction 11 is under way"
    assert is_news(watch, 1, 12, 15), "by now all is committed: a last look"
    assert not is_news(watch, 1, 13, 15)
    assert not is_news(watch, 1, 15, 15)
    assert is_news(watch, 2, 15, 15)
    assert is_news(watch, 2, 15, 15)
    assert is_news(watch, 3, 15, 15), "it has moved meanwhile: all begins again"
    assert is_news(watch, 3, 15, 16)
    assert is_news(watch, 3, 16, 16)
    assert not is_news(watch, 3, 16, 16)


def test_everybody_has_a_turn_before_anybody_comes_again() -> None:
    everybody = dict.fromkeys("abc")
    turns = RoundRobin(everybody)
    assert turns.next() + turns.next() + turns.next() == ["a", "b", "c"]
    assert turns.next(2) == ["a", "b"]
    everybody["d"] = None
    del everybody["c"]
    assert turns.next(2) == ["a", "b"]
    assert turns.next(9) == ["d", "a", "b"]
    everybody.clear()
    assert turns.next() == []


class Tenant(TenantQueue):
    """Has something to do, so often."""

    def __init__(self, name: str, times: int, served: list[str]) -> None:
        self.name, self.times, self.served = name, times, served
        self.dispatcher: Dispatcher[Tenant] = Dispatcher()

    def schedule(self) -> None:
        self.dispatcher.schedule(self)

    @property
    def _has_work(self) -> bool:
        return self.times > 0

    async def run_once(self, _line: SerialConnection) -> None:
        self.times -= 1
        self.served.append(self.name)
        await asyncio.sleep(0)


def test_tenants_are_served_in_turn_and_who_is_awaited_first() -> None:
    async def main() -> list[str]:
        dispatcher: Dispatcher[Tenant] = Dispatcher()
        served: list[str] = []
        a, b, c = (Tenant(name, times, served) for name, times in (("a", 3), ("b", 2), ("c", 1)))
        dispatcher.schedule(a)
        dispatcher.schedule(b)
        dispatcher.schedule(c, urgent=True)
        serving = asyncio.create_task(dispatcher.serve(cast(Any, None)))
        await asyncio.sleep(0.01)
        a.times = 1
        dispatcher.schedule(a)
        await asyncio.sleep(0.01)
        serving.cancel()
        return served

    assert asyncio.run(main()) == ["c", "a", "b", "a", "b", "a", "a"]


def test_one_that_is_always_awaited_does_not_keep_the_others_waiting() -> None:
    async def main() -> list[str]:
        dispatcher: Dispatcher[Tenant] = Dispatcher()
        served: list[str] = []
        loud, a, b = (Tenant(name, 4, served) for name in ("loud", "a", "b"))
        for tenant in (a, b):
            dispatcher.schedule(tenant)
        serving = asyncio.create_task(dispatcher.serve(cast(Any, None)))
        while a.times or b.times:
            loud.times = 4
            dispatcher.schedule(loud, urgent=True)
            await asyncio.sleep(0)
        serving.cancel()
        return served

    assert asyncio.run(main())[:8] == ["loud", "a", "loud", "b", "loud", "a", "loud", "b"]


class Resting(Tenant):
    """Is told each time to come again in a moment, five times."""

    def __init__(self, pause: float) -> None:
        super().__init__("resting", 5, [])
        self.interval, self.is_through = pause, asyncio.Event()

    async def run_once(self, line: SerialConnection) -> None:
        await super().run_once(line)
        self.pause(self.interval)
        if not self.times:
            self.is_through.set()


def test_whoever_rests_is_served_again_whatever_the_clock_has_rounded() -> None:
    async def main() -> None:
        # The loop of a keeper counts in milliseconds, so that sums are a little more, or less.
        tenants = [Resting(n / 1000) for n in range(1, 41)]
        for tenant in tenants:
            tenant.schedule()
        dispatcher = [asyncio.create_task(one.dispatcher.serve(cast(Any, None))) for one in tenants]
        async with asyncio.timeout(5):
            for tenant in tenants:
                await tenant.is_through.wait()
        for serving in dispatcher:
            serving.cancel()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())


class Hungry:
    """An exchange that would claim all it can, once."""

    waits_for_capacity = True

    def __init__(self, dispatcher: ExchangeDispatcher, room: list[int]) -> None:
        self.dispatcher, self.room, self.claims = dispatcher, room, list[int]()
        self.hungry = True

    def wants_jobs(self, _kind: str) -> bool:
        return self.hungry and self.room[0] > 0

    @property
    def is_ready(self) -> bool:
        return self.wants_jobs("async")

    async def run_once(self, _line: SerialConnection) -> None:
        n = self.dispatcher.share(cast(Exchange, self), "async", self.room[0])
        self.hungry = False
        self.room[0] -= n
        self.claims.append(n)


def test_what_room_there_is_is_divided_among_those_who_would_have_it() -> None:
    async def main() -> None:
        dispatcher = ExchangeDispatcher()
        room = [10]
        tenants = [Hungry(dispatcher, room) for _ in range(3)]
        for tenant in tenants:
            dispatcher.schedule(cast(Exchange, tenant))
        serving = asyncio.create_task(dispatcher.serve(cast(Any, None)))
        await asyncio.sleep(0.01)
        assert [tenant.claims for tenant in tenants] == [[4], [3], [3]]
        for tenant in tenants:
            tenant.hungry = True
        for _ in tenants:
            room[0] += 1
            dispatcher.capacity_freed()
            await asyncio.sleep(0.01)
        assert [tenant.claims for tenant in tenants] == [[4, 1], [3, 1], [3, 1]]
        serving.cancel()

    asyncio.run(main())
