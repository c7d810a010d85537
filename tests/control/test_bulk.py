"""Bulk stops as plain code and async code see them through, without any worker."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from tenure.control.behalf import Behalf
from tenure.control.bulk import carried_on, stop_many
from tenure.control.client import Client
from tenure.domain.lifecycle import Intent, State
from tenure.domain.principal import Principal, Role
from tenure.domain.tenant import DEFAULT
from tenure.errors import InputRefused, NotAllowed
from tenure.store.calls import keeping, looking
from tenure.store.ruled import Bulk
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
    bulk = client.take(stop_many({"queue": "default"}, progress=seen.append), DEFAULT)
    assert (bulk.status, bulk.done, bulk.total) == ("completed", 150, 150)
    assert [it.done for it in seen] == [0, 100, 150]
    assert store.show(jobs[-1]).state is State.CANCELLED


def test_in_async_code_too(client: Client, store: Store) -> None:
    job = make_job(store)

    async def stopped() -> Bulk:
        async with client:
            return await client.atake(stop_many({}, Intent.PAUSE, "later", grace="5s"), DEFAULT)

    bulk = asyncio.run(stopped())
    assert (bulk.done, bulk.options, bulk.reason) == (1, {"grace": "00:00:05"}, "later")
    assert store.show(job).state is State.PAUSED


def test_what_another_carries_on_is_waited_for(
    client: Client, store: Store, connect: Connect
) -> None:
    make_job(store)
    bulk = store.bulk_stop({})
    other = Session(connect())
    assert other(keeping.advance_bulk()) is not None
    steps = carried_on(bulk)
    asked: list[Any] = [next(steps)]
    asked.append(steps.send(store.send(asked[0])))
    asked.append(steps.send(None))
    assert [getattr(it, "verb", "pause") for it in asked] == ["advance_bulk", "pause", "bulk"]
    other.commit()
    with pytest.raises(StopIteration) as end:
        steps.send(store.send(looking.bulk(bulk.id)))
    assert end.value.value.status == "completed"


def test_what_is_said_wrong_is_refused_before_anything_is_stopped(
    client: Client, store: Store
) -> None:
    job = make_job(store)
    wrong: list[dict[str, Any]] = [{"grace": "soon"}, {"last_rung": "shot"}, {"strategy": "mild"}]
    for how in wrong:
        with pytest.raises(InputRefused):
            client.take(stop_many({}, **how), DEFAULT)
    assert store.show(job).status == "queued"


def test_on_behalf_of_an_operator_only_its_own(client: Client, store: Store) -> None:
    mine, _yours = make_job(store, owner="ann"), make_job(store, owner="bob")
    ann = Behalf(client, Principal("ann", Role.OPERATOR, via="cli"))
    bulk = ann.take(stop_many({}))
    assert (bulk.done, bulk.refused, bulk.initiated_by, bulk.via) == (1, 1, "ann", "cli")
    assert store.show(mine).cancelled_by == "ann"
    viewer = Behalf(client, Principal("eve", Role.VIEWER))
    with pytest.raises(NotAllowed, match="eve is a viewer and may not bulk stop"):
        viewer.take(stop_many({}))
    assert [row.actor for row in store.trail() if row.verb == "refuse"] == ["eve"]
