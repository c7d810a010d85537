"""Subscriptions to cancellations and whole tenants, and what makes a poll come sooner."""

import asyncio
from typing import Any

import psycopg

from tenure.auth import Principal, Role
from tenure.config import Settings
from tenure.control.client import Client
from tenure.domain.job import NewJob
from tenure.domain.tenant import Tenant
from tenure.stops import Subscription
from tenure.store.results import Statistics
from tenure.store.store import Store
from tests.control.watched import Reader, run, status, watched
from tests.factories import (
    end_as_stopped,
    make_job,
    make_jobs,
    make_worker,
    promote,
)
from tests.waiting import soon

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
            assert reader.seen[-1] == ("completed", 2)

    run(story())


def test_a_notice_brings_a_change_at_once(
    database: str, store: Store, rare_polls: None, asked: list[str]
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
            await soon(
                lambda: sorted(whole.seen) == [("cancellation", False), ("statistics", False)]
            )
            end_as_stopped(worker, claimed)
            promote(store)
            await asyncio.gather(reader.task, record.task)
            assert (reader.seen[-1], record.seen[-1]) == ("cancelled", "completed")
            await soon(lambda: ("cancellation", True) in whole.seen)
            assert asked.count("statistics") == 1, "what is dear has its own time"
            await whole.stop()

    run(story())


# Whole tenants.


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
            await soon(
                lambda: {kind for kind, _ in late.seen} == {"statistics", "cancellation"},
                "what is open is part of what there is",
            )
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


def test_an_end_is_kept_for_who_is_slow_and_for_nobody_else(database: str, store: Store) -> None:
    def kinds(events: Any) -> Reader:
        return Reader(events, lambda event: (event.kind, event.is_last))

    async def story() -> None:
        worker = make_worker(store)
        job = make_job(store)
        claimed = worker.claim_one()
        store.stop(job)
        async with watched(database) as (watching, ada):
            slow = watching.everything(ada)
            seen = [await anext(slow), await anext(slow)]
            assert {event.kind for event in seen} == {"statistics", "cancellation"}
            quick = kinds(watching.everything(ada))
            await soon(lambda: ("cancellation", False) in quick.seen)
            end_as_stopped(worker, claimed)
            promote(store)
            await soon(lambda: ("cancellation", True) in quick.seen)
            late = kinds(watching.everything(ada))
            await soon(lambda: late.seen)
            assert ("cancellation", True) not in late.seen, "it never saw it begin"
            [look] = [
                one for (_, kind, _), one in watching._opened._polls.items() if kind == "movements"
            ]
            assert len(look._latest) == 1
            while not (await anext(slow)).is_last:
                pass
            await soon(lambda: not look._latest, "what all have seen is forgotten")
            await slow.aclose()
            for one in (quick, late):
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
            wile = client.acting_as(Principal("wile", Role.VIEWER, Tenant("acme")))
            async with Subscription(client) as watching:
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


def test_a_notice_that_nobody_understands_is_only_a_hint(
    database: str, store: Store, sql: psycopg.Connection, rare_polls: None, asked: list[str]
) -> None:
    async def story() -> None:
        job = make_job(store)
        async with watched(database) as (watching, ada):
            reader = Reader(watching.job(ada, job), status)
            await soon(lambda: len(asked) == 2, "the listener is there")
            make_worker(store).claim_one()
            for text in ("[" * 7000, "[1, 2]", "{", '{"tenant": "default", "job_id": 99}'):
                sql.execute("SELECT pg_notify('tenure_events', %s)", (text,))
            await reader.has("queued", "running")
            await reader.stop()

    run(story())
