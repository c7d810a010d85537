"""Bulk stops as plain code and async code see them through, without any worker."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from tenure.control.authorized_client import AuthorizedClient
from tenure.control.bulk import carried_on, consequence, rerun_many, resume_many, stop_many
from tenure.control.client import Client
from tenure.domain.lifecycle import BulkIntent, Intent, State
from tenure.domain.principal import Principal, Role
from tenure.domain.tenant import DEFAULT
from tenure.errors import InputRefused, NotAllowed
from tenure.store.calls import queries, upkeep
from tenure.store.policy_results import Bulk, BulkPreview
from tenure.store.store import Store
from tests.conftest import Connect
from tests.factories import make_job
from tests.store.races.stage import Session


@pytest.fixture
def client(database: str) -> Iterator[Client]:
    with Client(database) as client:
        yield client


def test_many_jobs_are_stopped_and_the_progress_is_told(client: Client, store: Store) -> None:
    jobs = [make_job(store) for _ in range(150)]
    seen: list[Bulk] = []
    bulk = client.perform(stop_many({"queue": "default"}, progress=seen.append), DEFAULT)
    assert (bulk.status, bulk.done, bulk.total) == ("completed", 150, 150)
    assert [it.done for it in seen] == [0, 100, 150]
    assert store.show(jobs[-1]).state is State.CANCELLED


def test_in_async_code_too(client: Client, store: Store) -> None:
    job = make_job(store)

    async def stopped() -> Bulk:
        async with client:
            return await client.aperform(stop_many({}, Intent.PAUSE, "later", grace="5s"), DEFAULT)

    bulk = asyncio.run(stopped())
    assert (bulk.done, bulk.options, bulk.reason) == (1, {"grace": "00:00:05"}, "later")
    assert store.show(job).state is State.PAUSED


def test_many_jobs_are_resumed_and_run_again(client: Client, store: Store) -> None:
    make_job(store)
    client.perform(stop_many({}, Intent.PAUSE), DEFAULT)
    resumed = client.perform(resume_many({}, "on it", fresh=True), DEFAULT)
    assert (resumed.intent, resumed.done, resumed.options) == ("resume", 1, {"fresh": True})
    client.perform(stop_many({}), DEFAULT)
    rerun = client.perform(rerun_many({"status": "cancelled"}, by="ann"), DEFAULT)
    assert (rerun.intent, rerun.done, rerun.initiated_by) == ("rerun", 1, "ann")
    assert store.show(2).status == "queued"


@pytest.mark.parametrize(
    ("intent", "how", "said"),
    [
        (
            "cancel",
            {},
            "2 running are asked to stop, and killed after the grace of the task",
        ),
        ("cancel", {"force": True}, "2 running are killed at once"),
        (
            "pause",
            {"grace": timedelta(seconds=10)},
            "3 not running now stop at once, 2 running are asked to stop, and killed after 10s",
        ),
        ("resume", {"fresh": True}, "This resumes 5 jobs: each continues from the start"),
        ("rerun", {}, "This enqueues 5 jobs again, with the same arguments and options"),
    ],
)
def test_the_effect_is_described_before_it_happens(
    intent: str, how: dict[str, Any], said: str
) -> None:
    preview = BulkPreview(7, {"queued": 5, "running": 2}, 5, 2, 2, 0)
    assert consequence(preview, BulkIntent(intent), **how).endswith(said)


def test_what_another_carries_on_is_waited_for(
    client: Client, store: Store, connect: Connect
) -> None:
    make_job(store)
    bulk = store.bulk_stop({})
    other = Session(connect())
    assert other(upkeep.advance_bulk()) is not None
    steps = carried_on(bulk)
    asked: list[Any] = [next(steps)]
    asked.append(steps.send(store.send(asked[0])))
    asked.append(steps.send(None))
    assert [getattr(it, "verb", "pause") for it in asked] == ["advance_bulk", "pause", "bulk"]
    other.commit()
    with pytest.raises(StopIteration) as end:
        steps.send(store.send(queries.bulk(bulk.id)))
    assert end.value.value.status == "completed"


def test_invalid_options_are_refused_before_anything_is_stopped(
    client: Client, store: Store
) -> None:
    job = make_job(store)
    wrong: list[dict[str, Any]] = [{"grace": "soon"}, {"last_rung": "shot"}, {"strategy": "mild"}]
    for how in wrong:
        with pytest.raises(InputRefused):
            client.perform(stop_many({}, **how), DEFAULT)
    assert store.show(job).status == "queued"


def test_on_behalf_of_an_operator_only_its_own(client: Client, store: Store) -> None:
    mine, _yours = make_job(store, owner="ann"), make_job(store, owner="bob")
    ann = AuthorizedClient(client, Principal("ann", Role.OPERATOR, via="cli"))
    bulk = ann.perform(stop_many({}))
    assert (bulk.done, bulk.refused, bulk.initiated_by, bulk.via) == (1, 1, "ann", "cli")
    assert store.show(mine).cancelled_by == "ann"
    viewer = AuthorizedClient(client, Principal("eve", Role.VIEWER))
    with pytest.raises(NotAllowed, match="eve is a viewer and may not bulk stop"):
        viewer.perform(stop_many({}))
    assert [row.actor for row in store.audit_log() if row.verb == "refuse"] == ["eve"]
