"""The service: single tasks, the records it knows, their ends, and in whose name it acts."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager

import psycopg
import pytest

from tenure.app import Tenure
from tenure.auth import Principal, Role
from tenure.config import Settings
from tenure.control import cancellation
from tenure.control.client import Client
from tenure.domain.job import NewJob
from tenure.domain.lifecycle import State
from tenure.domain.tenant import Tenant
from tenure.errors import (
    InputRefused,
    JobNotFound,
    NotAllowed,
    NotFound,
)
from tenure.stops import (
    CancellationRecord,
    CancellationResult,
    CancellationService,
    CancellationStep,
)
from tenure.store.store import Store
from tests.control.serviced import end, run, start
from tests.control.watched import cut, cuttable
from tests.factories import (
    make_job,
    make_jobs,
)
from tests.waiting import soon

ADA = Principal("ada", Role.OPERATOR)
EVE = Principal("eve", Role.OPERATOR)
ROOT = Principal("root", Role.ADMIN)


# One task.


def family(store: Store) -> dict[str, int]:
    """A root with tasks: b comes after a, c stands alone."""
    return dict(
        make_jobs(
            store,
            [
                NewJob(key="root"),
                NewJob(key="a", task="work", parent="root"),
                NewJob(key="b", task="work", parent="root", after=["a"]),
                NewJob(key="c", task="work", parent="root"),
                NewJob(key="deep", task="work", parent="c"),
            ],
        )
    )


@pytest.mark.parametrize("cascade", [True, False])
def test_a_task_is_cancelled_with_what_comes_after_it_or_without(
    database: str, store: Store, cascade: bool
) -> None:
    ids = family(store)

    async def story(service: CancellationService) -> CancellationResult:
        return await service.cancel_task(ids["a"], "wrong", cascade)

    result = run(database, story)
    assert result.tasks_cancelled == ((ids["b"],) if cascade else ())
    assert result.job_id == ids["root"]
    assert store.show(ids["c"]).state is State.PENDING
    record = store.cancellation(result.cancellation_id)
    assert (record.task_id, record.cascade) == (ids["a"], cascade)


def test_a_task_of_another_job_is_refused(database: str, store: Store) -> None:
    ids, other = family(store), make_job(store, key="other")

    async def story(service: CancellationService) -> None:
        for job in (other, "other", ids["a"], ids["deep"]):
            with pytest.raises(NotFound, match=r"^job \d+ has no task \d+$"):
                await service.cancel_task(ids["deep"], job_id=job)
        with pytest.raises(JobNotFound, match="there is no job 999"):
            await service.cancel_task(ids["deep"], job_id=999)

    run(database, story)
    assert store.cancellations() == ()


def test_a_task_is_known_by_any_job_above_it(database: str, store: Store) -> None:
    ids = family(store)

    async def story(service: CancellationService) -> None:
        assert (await service.cancel_task("deep", job_id="root")).success
        assert (await service.cancel_task(ids["a"], job_id=ids["root"])).success

    run(database, story)


# Looking.


def test_records_are_found_by_name_by_job_and_in_a_list(database: str, store: Store) -> None:
    jobs = [make_job(store) for _ in range(12)]

    async def story(service: CancellationService) -> None:
        results = [await service.cancel_job(job, f"reason {job}") for job in jobs]
        names = [result.cancellation_id for result in reversed(results)]
        listed = await service.list_cancellations()
        assert [record.cancellation_id for record in listed] == names[:10]
        rest = await service.list_cancellations(limit=5, offset=10)
        assert [record.cancellation_id for record in rest] == names[10:]
        record = await service.record_of(jobs[3])
        assert record.reason == f"reason {jobs[3]}"
        assert await service.get_record(record.cancellation_id) == record
        assert all(isinstance(step, CancellationStep) for step in record.progress)
        for bad in ({"limit": 0}, {"offset": -1}):
            with pytest.raises(InputRefused, match="limit takes 1 or more"):
                await service.list_cancellations(**bad)

    run(database, story)


def test_a_job_that_nobody_has_stopped_has_no_record(database: str, store: Store) -> None:
    job = make_job(store)

    async def story(service: CancellationService) -> None:
        with pytest.raises(NotFound, match=f"job {job} was never stopped"):
            await service.get_cancellation_status(job)
        with pytest.raises(NotFound, match="there is no cancellation"):
            await service.get_record("cancel-00000f")

    run(database, story)


# Every end.


def test_each_end_is_told_once_to_each_who_listens(
    database: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Longer than this test may take: it must not be the patience that ends the block.
    monkeypatch.setattr(cancellation, "LAST_POLL", 600.0)
    before = make_job(store)
    store.stop(before)
    worker, claimed = start(store)

    async def story(service: CancellationService) -> None:
        told: list[list[str]] = [[], []]

        async def hook(record: CancellationRecord) -> None:
            await asyncio.sleep(0)
            told[0].append(record.cancellation_id)

        async with (
            service.on_end(hook),
            service.on_end(lambda record: told[1].append(record.cancellation_id)),
        ):
            results = [await service.cancel_job(make_job(store)) for _ in range(5)]
            store.stop(claimed.id)
        names = [result.cancellation_id for result in results]
        assert told == [names, names], "the open one and the one before are not among them"
        end(store, worker, claimed)

    run(database, story)


def test_a_hook_that_fails_is_called_again_for_the_next(
    database: str, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    jobs = [make_job(store) for _ in range(2)]

    async def story(service: CancellationService) -> list[int]:
        told: list[int] = []

        def hook(record: CancellationRecord) -> None:
            told.append(record.job_id)
            raise ValueError("the hook is broken")

        async with service.on_end(hook):
            for job in jobs:
                await service.cancel_job(job)
        return told

    with caplog.at_level(logging.ERROR, "tenure"):
        assert run(database, story) == jobs
    assert caplog.text.count("ValueError: the hook is broken") == 2


def test_what_fails_within_the_block_comes_out_of_it(database: str) -> None:
    async def story(service: CancellationService) -> None:
        with pytest.raises(KeyError):
            async with service.on_end(print):
                raise KeyError("mine")

    run(database, story)


def test_ends_go_on_and_none_is_lost_when_connections_are(
    database: str, store: Store, sql: psycopg.Connection
) -> None:
    async def story(service: CancellationService) -> None:
        told: list[str] = []

        async def listen() -> None:
            async with aclosing(service.ends()) as ends:
                async for record in ends:
                    told.append(record.cancellation_id)  # noqa: PERF401  seen one by one

        listening = asyncio.create_task(listen())

        def has_begun() -> bool:
            store.stop(make_job(store))
            return bool(told)

        try:
            await soon(has_begun, "it hears of ends")
            names = []
            for _ in range(3):
                await cut(sql)
                names.append(store.stop(make_job(store)).cancellation_id)
            await soon(lambda: names[-1] in told)
        finally:
            listening.cancel()
            await asyncio.wait([listening])
        assert told[-3:] == names
        assert len(set(told)) == len(told)

    run(cuttable(database), story)


# In somebody's name.


@asynccontextmanager
async def named(database: str) -> AsyncIterator[Callable[[Principal], CancellationService]]:
    async with Client(database, settings=Settings()) as client:
        yield lambda principal: CancellationService(client, principal=principal)


def test_only_the_owner_or_an_admin_cancels_a_job(database: str, store: Store) -> None:
    jobs = [make_job(store, owner="ada") for _ in range(2)]

    async def story() -> None:
        async with named(database) as service:
            with pytest.raises(NotAllowed, match=f"job {jobs[0]} belongs to ada"):
                await service(EVE).cancel_job(jobs[0])
            with pytest.raises(NotAllowed, match="is a viewer and may not stop"):
                await service(Principal("vic", Role.VIEWER)).cancel_job(jobs[0])
            assert store.cancellations() == ()
            mine = await service(ADA).cancel_job(jobs[0])
            theirs = await service(ROOT).cancel_job(jobs[1])
            assert (await service(EVE).get_record(mine.cancellation_id)).initiated_by == "ada"
            assert (await service(EVE).get_record(theirs.cancellation_id)).initiated_by == "root"

    asyncio.run(story())
    refusals = [row for row in store.audit_log("job") if row.verb == "refuse"]
    assert {row.actor for row in refusals} >= {"eve"}


def test_the_tenant_comes_from_the_principal(database: str, store: Store) -> None:
    async def story() -> None:
        async with Client(database, settings=Settings()) as client:
            client.migrate("acme")
            job = make_job(client.store_of("acme"))
            wile = Principal("wile", Role.ADMIN, Tenant("acme"))
            assert (await CancellationService(client, principal=wile).cancel_job(job)).success
            assert await CancellationService(client).list_cancellations() == ()
            assert len(await CancellationService(client, "acme").list_cancellations()) == 1
            with pytest.raises(InputRefused, match="wile is of tenant 'acme'"):
                CancellationService(client, "other", principal=wile)

    asyncio.run(story())


# Where it is found.


def test_an_app_has_the_service_of_its_default_tenant(database: str, store: Store) -> None:
    async def story() -> bool:
        async with Tenure(database, settings=Settings()) as app:
            return (await app.cancellations.cancel_job(make_job(store))).success

    assert asyncio.run(story())
