"""Watching: what there is first, then changes alone, with one look for all who watch."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import aclosing, asynccontextmanager
from datetime import timedelta
from typing import Any, TypeVar

import psycopg
import pytest

from tenure.config import Settings
from tenure.control import Behalf, Client, Principal, Role, Watching, event_id, hub, looks
from tenure.domain.job import Job, NewJob
from tenure.domain.tenant import Tenant
from tenure.errors import InputRefused, JobNotFound, NotFound, SchemaMismatch, StoreUnavailable
from tenure.store.call import Call
from tenure.store.results import Statistics
from tenure.store.store import AsyncStore, Store
from tests.factories import end_as_stopped, make_job, make_jobs, make_worker, promote

T = TypeVar("T")

ADA = Principal("ada", Role.VIEWER)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The verbs that were sent by async code."""
    verbs: list[str] = []
    send = AsyncStore.send

    async def noted(self: AsyncStore, call: Call[Any]) -> Any:
        verbs.append(call.verb)
        return await send(self, call)

    monkeypatch.setattr(AsyncStore, "send", noted)
    return verbs


@pytest.fixture
def seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks so seldom that only a notice can explain a change that is seen."""
    monkeypatch.setattr(looks, "FIRST_PAUSE", 600.0)
    monkeypatch.setattr(hub, "EVERY", 600.0)
    monkeypatch.setattr(hub, "EVERYTHING_EVERY", 600.0)


@asynccontextmanager
async def watched(url: str) -> AsyncIterator[tuple[Watching, Behalf]]:
    async with Client(url, settings=Settings()) as client, Watching(client) as watching:
        yield watching, client.behalf(ADA)


def run(story: Coroutine[Any, Any, T]) -> T:
    async def bounded() -> T:
        async with asyncio.timeout(30):
            return await story

    return asyncio.run(bounded())


async def soon(claim: Callable[[], object], what: str = "it") -> None:
    deadline = time.monotonic() + 20
    while not claim():
        assert time.monotonic() < deadline, f"{what} never came true"
        await asyncio.sleep(0.005)


class Reader:
    """Notes all that is seen, in a task of its own."""

    def __init__(self, things: Any, note: Callable[[Any], Any]) -> None:
        self.seen: list[Any] = []
        self._things = things
        self._note = note
        self.task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async with aclosing(self._things) as things:
            async for thing in things:
                self.seen.append(self._note(thing))

    async def has(self, *notes: Any) -> None:
        await soon(lambda: self.seen == list(notes), f"{notes} is seen, not {self.seen},")

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.wait([self.task])


def status(job: Job) -> str:
    return str(job.status)


# One job.


def test_a_job_is_seen_as_it_is_and_at_each_change_until_it_ends(
    database: str, store: Store
) -> None:
    async def story() -> None:
        job = make_job(store)
        async with watched(database) as (watching, ada):
            reader = Reader(watching.job(ada, job), status)
            await reader.has("queued")
            worker = make_worker(store)
            claimed = worker.claim_one()
            await reader.has("queued", "running")
            worker.finish(claimed, value=1)
            await reader.task
            assert reader.seen == ["queued", "running", "completed"]

    run(story())


def test_a_job_that_has_ended_is_seen_once(database: str, store: Store) -> None:
    async def story() -> list[str]:
        job = make_job(store)
        store.stop(job)
        async with watched(database) as (watching, ada):
            return [status(seen) async for seen in watching.job(ada, job)]

    assert run(story()) == ["cancelled"]


def test_a_job_may_be_named_by_its_key(database: str, store: Store) -> None:
    async def story() -> list[int]:
        job = make_job(store, key="report")
        store.stop(job)
        async with watched(database) as (watching, ada):
            assert [seen.id async for seen in watching.job(ada, "report")] == [job]
            with pytest.raises(JobNotFound, match="no job with the key 'other'"):
                [seen async for seen in watching.job(ada, "other")]
            return []

    run(story())


def test_what_does_not_exist_is_refused_at_once(database: str) -> None:
    async def story() -> None:
        async with watched(database) as (watching, ada):
            with pytest.raises(JobNotFound, match="there is no job 7"):
                await anext(watching.job(ada, 7))
            with pytest.raises(NotFound, match="there is no cancellation"):
                await anext(watching.cancellation(ada, "cancel-000007"))
        with pytest.raises(InputRefused, match="async with Watching"):
            await anext(watching.job(ada, 7))

    run(story())


def test_a_beat_is_no_change(database: str, store: Store, asked: list[str]) -> None:
    async def story() -> None:
        job = make_job(store)
        worker = make_worker(store)
        worker.claim_one()
        async with watched(database) as (watching, ada):
            reader = Reader(watching.job(ada, job), status)
            await reader.has("running")
            store.renew(worker.id)
            before = len(asked)
            await soon(lambda: len(asked) > before + 3, "some more looks")
            assert reader.seen == ["running"]
            await reader.stop()

    run(story())


def test_what_was_seen_last_is_not_sent_again(database: str, store: Store) -> None:
    async def story() -> None:
        job = make_job(store)
        seen = event_id(store.show(job))
        async with watched(database) as (watching, ada):
            again = Reader(watching.job(ada, job, after=seen), status)
            changed = Reader(watching.job(ada, job, after="0123456789abcdef"), status)
            await changed.has("queued")
            store.stop(job)
            await asyncio.gather(again.task, changed.task)
            assert again.seen == ["cancelled"]
            assert changed.seen == ["queued", "cancelled"]
            last = event_id(store.show(job))
            assert [one async for one in watching.job(ada, job, after=last)] == []

    run(story())


# Many who watch.


def test_two_hundred_watchers_of_one_job_cost_one_query(
    database: str, store: Store, asked: list[str], seldom: None
) -> None:
    async def story() -> None:
        job = make_job(store)
        async with watched(database) as (watching, ada):
            readers = [Reader(watching.job(ada, job), status) for _ in range(200)]
            await asyncio.gather(*(reader.has("queued") for reader in readers))
            # The second look is that of the listener, which may have missed something.
            await soon(lambda: asked.count("show") == 2, "the listener is there")
            store.stop(job)
            await asyncio.gather(*(reader.task for reader in readers))
            assert {tuple(reader.seen) for reader in readers} == {("queued", "cancelled")}
            assert asked == ["show"] * 3

    run(story())


def test_a_slow_one_sees_the_newest_state_and_delays_nobody(database: str, store: Store) -> None:
    async def story() -> None:
        job = make_job(store)
        async with watched(database) as (watching, ada):
            slow = watching.job(ada, job)
            assert status(await anext(slow)) == "queued"
            quick = Reader(watching.job(ada, job), status)
            await quick.has("queued")
            worker = make_worker(store)
            claimed = worker.claim_one()
            await quick.has("queued", "running")
            worker.finish(claimed)
            await quick.task
            assert [status(seen) async for seen in slow] == ["completed"]

    run(story())


def test_nothing_is_asked_when_nobody_watches(
    database: str, store: Store, asked: list[str], sql: psycopg.Connection
) -> None:
    async def story() -> None:
        jobs = [make_job(store) for _ in range(2)]
        async with watched(database) as (watching, ada):
            assert listeners(sql) == 0, "nor is there a connection for nobody"
            readers = [Reader(watching.job(ada, job), status) for job in jobs]
            for reader in readers:
                await reader.has("queued")
            await readers[0].stop()
            await soon(lambda: asked[-4:] == ["show"] * 4, "the other goes on")
            await readers[1].stop()
            before = len(asked)
            await asyncio.sleep(0.6)
            assert len(asked) <= before + 1, "one may have been under way"

    run(story())


def listeners(sql: psycopg.Connection) -> int:
    row = sql.execute(
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE datname = current_database() AND application_name = 'tenure notices'"
    ).fetchone()
    assert row
    return int(row[0])


def test_all_who_watch_share_one_listener(
    database: str, store: Store, sql: psycopg.Connection, asked: list[str]
) -> None:
    async def story() -> None:
        jobs = [make_job(store) for _ in range(3)]
        async with Client(database, settings=Settings()) as client:
            async with Watching(client) as one, Watching(client) as two:
                readers = [Reader(w.job("default", jobs[0]), status) for w in (one, two)]
                readers.append(Reader(two.everything("default"), lambda event: event.kind))
                await soon(lambda: listeners(sql) == 1, "a listener")
                await readers[2].has("statistics")
                for reader in readers:
                    await reader.stop()
                assert listeners(sql) == 1, "for the next who comes"
            await soon(lambda: listeners(sql) == 0, "and none when all have left")

    run(story())


def test_whoever_still_watches_when_it_is_closed_comes_to_an_end(
    database: str, store: Store
) -> None:
    async def story() -> None:
        job = make_job(store)
        async with watched(database) as (watching, ada):
            reader = Reader(watching.job(ada, job), status)
            await reader.has("queued")
        await reader.task

    run(story())


# Cancellations.


def test_a_cancellation_is_seen_at_each_change_until_it_is_closed(
    database: str, store: Store
) -> None:
    async def story() -> None:
        tasks = [NewJob(task="work", parent="root", key=str(n)) for n in range(2)]
        ids = make_jobs(store, [NewJob(key="root"), *tasks])
        worker = make_worker(store)
        first, second = worker.claim(2)
        name = store.stop(ids["root"]).cancellation_id
        async with watched(database) as (watching, ada):
            reader = Reader(
                watching.cancellation(ada, name), lambda r: (str(r.status), len(r.tasks_cancelled))
            )
            await reader.has(("stopping_runners", 0))
            end_as_stopped(worker, first)
            await reader.has(("stopping_runners", 0), ("stopping_runners", 1))
            end_as_stopped(worker, second)
            promote(store)
            await reader.task
            assert reader.seen[-1] == ("completed", 3)

    run(story())


def test_a_notice_brings_a_change_at_once(
    database: str, store: Store, seldom: None, asked: list[str]
) -> None:
    async def story() -> None:
        job = make_job(store)
        worker = make_worker(store)
        claimed = worker.claim_one()
        async with watched(database) as (watching, ada):
            reader = Reader(watching.job(ada, job), status)
            await soon(lambda: len(asked) == 2, "the listener is there")
            name = store.stop(job).cancellation_id
            await reader.has("running", "cancelling")
            record = Reader(watching.cancellation(ada, name), lambda r: str(r.status))
            whole = Reader(watching.everything(ada), lambda e: (e.kind, e.is_last))
            await record.has("stopping_runners")
            await whole.has(("statistics", False), ("cancellation", False))
            end_as_stopped(worker, claimed)
            promote(store)
            await asyncio.gather(reader.task, record.task)
            assert (reader.seen[-1], record.seen[-1]) == ("cancelled", "completed")
            await soon(lambda: ("cancellation", True) in whole.seen)
            await whole.stop()

    run(story())


# The whole of a tenant.


def test_everything_is_the_statistics_and_the_cancellations_that_move(
    database: str, store: Store
) -> None:
    def note(event: Any) -> tuple[str, Any]:
        if isinstance(event.value, Statistics):
            return event.kind, dict(event.value.by_status)
        return event.kind, str(event.value.status)

    async def story() -> None:
        store.stop(make_job(store))
        async with watched(database) as (watching, ada):
            reader = Reader(watching.everything(ada), note)
            await reader.has(("statistics", {"cancelled": 1}))
            job = make_job(store)
            worker = make_worker(store)
            claimed = worker.claim_one()
            await soon(lambda: ("statistics", {"cancelled": 1, "running": 1}) in reader.seen)
            store.stop(job)
            await soon(lambda: ("cancellation", "stopping_runners") in reader.seen)
            late = Reader(watching.everything(ada), note)
            await soon(lambda: len(late.seen) == 2, "what is open is part of what there is")
            end_as_stopped(worker, claimed)
            promote(store)
            await soon(lambda: ("cancellation", "completed") in reader.seen)
            await soon(lambda: ("cancellation", "completed") in late.seen)
            await soon(lambda: ("statistics", {"cancelled": 2}) in reader.seen)
            ended = [seen for seen in reader.seen if seen == ("cancellation", "completed")]
            assert len(ended) == 1, "the one that had ended before is no news"
            for one in (reader, late):
                await one.stop()

    run(story())


def test_the_age_of_what_waits_is_no_change(database: str, store: Store, asked: list[str]) -> None:
    async def story() -> None:
        make_job(store)
        async with watched(database) as (watching, ada):
            reader = Reader(watching.everything(ada), lambda event: event.kind)
            await soon(lambda: asked.count("statistics") >= 4, "several looks")
            assert reader.seen == ["statistics"]
            await reader.stop()

    run(story())


def test_no_tenant_sees_another(database: str, store: Store) -> None:
    async def story() -> None:
        async with Client(database, settings=Settings()) as client:
            client.migrate("acme")
            mine, theirs = make_job(store), make_job(client.store_of("acme"))
            assert mine == theirs
            wile = client.behalf(Principal("wile", Role.VIEWER, Tenant("acme")))
            async with Watching(client) as watching:
                ours = Reader(watching.job("default", mine), status)
                other = Reader(watching.job(wile, theirs), status)
                whole = Reader(watching.everything(wile), lambda event: event.kind)
                await ours.has("queued")
                store.stop(mine)
                await ours.task
                await other.has("queued")
                await whole.has("statistics")
                for one in (other, whole):
                    await one.stop()

    run(story())


# Trouble.


def test_a_database_that_is_away_from_the_start_is_said(tmp_path: Any) -> None:
    async def story() -> None:
        settings = Settings(connect_timeout=timedelta(seconds=1))
        async with (
            Client(f"postgresql:///none?host={tmp_path}", settings=settings) as client,
            Watching(client) as watching,
        ):
            with pytest.raises(StoreUnavailable):
                await anext(watching.job("default", 1))

    run(story())


def test_a_database_without_the_schema_is_said(empty_database: str) -> None:
    async def story() -> None:
        async with watched(empty_database) as (watching, ada):
            with pytest.raises(SchemaMismatch, match="run: tenure migrate"):
                await anext(watching.everything(ada))

    run(story())


def test_lost_connections_lose_no_change(
    database: str, store: Store, sql: psycopg.Connection
) -> None:
    def cut() -> None:
        mine = "datname = current_database() AND pid <> pg_backend_pid()"
        sql.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {mine}".encode())

    async def story() -> None:
        job = make_job(store)
        async with watched(database) as (watching, ada):
            reader = Reader(watching.job(ada, job), status)
            await reader.has("queued")
            await soon(lambda: listeners(sql) == 1)
            cut()
            worker = make_worker(store)
            claimed = worker.claim_one()
            cut()
            await reader.has("queued", "running")
            await soon(lambda: listeners(sql) == 1, "it listens again")
            worker.finish(claimed)
            await reader.task
            assert reader.seen[-1] == "completed"

    run(story())


def test_a_notice_that_nobody_understands_is_only_a_hint(
    database: str, store: Store, sql: psycopg.Connection, seldom: None, asked: list[str]
) -> None:
    async def story() -> None:
        job = make_job(store)
        async with watched(database) as (watching, ada):
            reader = Reader(watching.job(ada, job), status)
            await soon(lambda: len(asked) == 2, "the listener is there")
            make_worker(store).claim_one()
            for text in ("[1, 2]", "{", '{"tenant": "default", "job_id": 99}'):
                sql.execute("SELECT pg_notify('tenure_events', %s)", (text,))
            await reader.has("queued", "running")
            await reader.stop()

    run(story())
