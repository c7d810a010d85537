"""Subscription while the database is stopped and started again."""

import asyncio
import tempfile
from contextlib import ExitStack
from pathlib import Path

import psycopg

from tenure.config import Settings
from tenure.control.client import Client
from tenure.control.hub import Hub
from tenure.domain.tenant import DEFAULT
from tenure.stops import CancellationService, Subscription
from tenure.store import schema
from tenure.store.embedded import Embedded
from tenure.store.store import Store
from tests.conftest import chosen_binaries
from tests.control.watched import Reader, listeners, status
from tests.factories import make_job, make_worker
from tests.system.test_outages import stop_at_once
from tests.waiting import soon

IMPATIENT = Settings(connect_timeout="1s")  # type: ignore[arg-type]


def test_a_restart_of_the_database_loses_neither_a_change_nor_an_end() -> None:
    with tempfile.TemporaryDirectory(prefix="tenure-test-") as place, ExitStack() as servers:
        folder = Path(place) / "pg"

        def start() -> str:
            return servers.enter_context(Embedded.open(folder, chosen_binaries())).url

        url = start()
        with psycopg.connect(url, autocommit=True) as connection:
            schema.migrate(connection, DEFAULT)

        async def story() -> None:
            async with Client(url, settings=IMPATIENT) as client, Subscription(client) as watching:
                with Store(url) as store, psycopg.connect(url, autocommit=True) as sql:
                    job = make_job(store)
                    watched = Reader(watching.job("default", job), status)
                    ends = Reader(
                        CancellationService(client).ends(), lambda record: record.cancellation_id
                    )
                    await watched.has("queued")
                    await soon(lambda: listeners(sql) == 1, "it listens")
                    # Only what ends from its first look on is told to it.
                    await soon(lambda: store.stop(make_job(store)) and ends.seen, "an end is told")
                    told = list(ends.seen)
                await asyncio.to_thread(stop_at_once, folder)
                looks = Hub.of(client)._polls.values()
                await soon(lambda: all(look._problem for look in looks), "all look in vain")
                await asyncio.to_thread(start)
                with Store(url) as store, psycopg.connect(url, autocommit=True) as sql:
                    worker = make_worker(store)
                    store.stop(make_job(store))
                    claimed = worker.claim_one()
                    assert claimed.id == job
                    last = store.cancellations(1)[0].cancellation_id
                    await soon(lambda: last in ends.seen, "the end is told")
                    await watched.has("queued", "running")
                    await soon(lambda: listeners(sql) == 1, "it listens again")
                    worker.finish(claimed)
                    await watched.task
                assert watched.seen == ["queued", "running", "completed"]
                assert len(set(ends.seen)) == len(ends.seen) > len(told), "each once"
                await ends.stop()

        asyncio.run(asyncio.wait_for(story(), 90))
