"""Subscriptions: first the current state, then only changes, with one query for all watchers."""

import asyncio
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from tenure.config import Settings
from tenure.control.client import Client
from tenure.control.polling import Event, Poll
from tenure.errors import (
    InputRefused,
    JobNotFound,
    NotFound,
    SchemaMismatch,
    StoreUnavailable,
)
from tenure.stops import Subscription, event_id
from tenure.store.store import Store
from tests.control.watched import Reader, cut, cuttable, listeners, run, status, watched
from tests.factories import (
    make_job,
    make_worker,
)
from tests.waiting import soon

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


def test_a_job_resumed_after_its_end_is_seen(database: str, store: Store) -> None:
    async def story() -> None:
        job = make_job(store, max_attempts=1)
        worker = make_worker(store)
        worker.finish(worker.claim_one(), "failed", error={"message": "no"})
        async with watched(database) as (watching, ada):
            events = watching.job_and_stops(ada, job)
            reader = Reader(events, lambda event: str(event.value.status))
            await reader.has("failed")
            store.resume(job)
            await reader.has("failed", "queued")
            worker.claim_one()
            await reader.has("failed", "queued", "running")
            await reader.stop()

    run(story())


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
        with pytest.raises(InputRefused, match="async with Subscription"):
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


# Many watchers.


def test_two_hundred_watchers_of_one_job_cost_one_query(
    database: str, store: Store, asked: list[str], rare_polls: None
) -> None:
    async def story() -> None:
        job = make_job(store)
        async with watched(database) as (watching, ada):
            readers = [Reader(watching.job(ada, job), status) for _ in range(200)]
            await asyncio.gather(*(reader.has("queued") for reader in readers))
            store.stop(job)
            await asyncio.gather(*(reader.task for reader in readers))
            assert {tuple(reader.seen) for reader in readers} == {("queued", "cancelled")}
            # One query for the state before, one for the state after, and one by the listener,
            # which may have missed a change before it was connected.
            assert set(asked) == {"show"}
            assert len(asked) <= 3

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
            await soon(lambda: asked[-4:] == ["show"] * 4, "the other one is still watched")
            await readers[1].stop()
            before = len(asked)
            await asyncio.sleep(0.6)
            assert len(asked) <= before + 1, "one may have been under way"

    run(story())


def test_all_who_watch_share_one_listener(
    database: str, store: Store, sql: psycopg.Connection, asked: list[str]
) -> None:
    async def story() -> None:
        jobs = [make_job(store) for _ in range(3)]
        async with Client(database, settings=Settings()) as client:
            async with Subscription(client) as one, Subscription(client) as two:
                readers = [Reader(w.job("default", jobs[0]), status) for w in (one, two)]
                readers.append(Reader(two.everything("default"), lambda event: event.kind))
                await soon(lambda: listeners(sql) == 1, "a listener")
                await readers[2].has("statistics")
                for reader in readers:
                    await reader.stop()
                await soon(lambda: listeners(sql) == 1, "one listener, for the next who comes")
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


def test_what_takes_long_is_looked_at_less_often() -> None:
    async def story() -> int:
        looks = 0

        async def ask() -> list[Event[Any]]:
            nonlocal looks
            looks += 1
            await asyncio.sleep(0.1)
            return []

        running = asyncio.create_task(Poll(ask, every=0.01, ends=False).run())
        await asyncio.sleep(1.2)
        running.cancel()
        await asyncio.wait([running])
        return looks

    assert 1 <= run(story()) <= 3


# Trouble.


def test_an_unreachable_database_is_reported_at_the_start(tmp_path: Any) -> None:
    async def story() -> None:
        settings = Settings(connect_timeout=timedelta(seconds=1))
        async with (
            Client(f"postgresql:///none?host={tmp_path}", settings=settings) as client,
            Subscription(client) as watching,
        ):
            with pytest.raises(StoreUnavailable):
                await anext(watching.job("default", 1))

    run(story())


def test_a_database_without_the_schema_is_reported(empty_database: str) -> None:
    async def story() -> None:
        async with watched(empty_database) as (watching, ada):
            with pytest.raises(SchemaMismatch, match="run: tenure migrate"):
                await anext(watching.everything(ada))

    run(story())


def test_lost_connections_lose_no_change(
    database: str, store: Store, sql: psycopg.Connection
) -> None:
    async def story() -> None:
        job = make_job(store)
        async with watched(cuttable(database)) as (watching, ada):
            reader = Reader(watching.job(ada, job), status)
            await reader.has("queued")
            await cut(sql)
            worker = make_worker(store)
            claimed = worker.claim_one()
            await cut(sql)
            await reader.has("queued", "running")
            await cut(sql)
            worker.finish(claimed)
            await reader.task
            assert reader.seen[-1] == "completed"

    run(story())
