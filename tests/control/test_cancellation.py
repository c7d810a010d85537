"""Cancelling jobs by the service, with workers whose every word the test says itself."""

import asyncio
import logging
import re
from typing import Any

import psycopg
import pytest

from tenure.config import Settings
from tenure.control.client import Client
from tenure.domain.job import NewJob
from tenure.domain.lifecycle import Rung, State
from tenure.errors import (
    IllegalTransition,
    InputRefused,
    JobNotEnded,
    JobNotFound,
)
from tenure.stops import CancellationResult, CancellationService, CancellationStatus
from tenure.store.store import Store
from tests.control.conftest import Answered
from tests.control.serviced import asked, end, run, start
from tests.control.watched import cut, cuttable
from tests.factories import (
    make_job,
    make_job_in,
    make_jobs,
    make_worker,
    promote,
)

# Cancelling a job.


def test_a_job_that_waits_is_cancelled_at_once(database: str, store: Store) -> None:
    job = make_job(store)

    async def story(service: CancellationService) -> CancellationResult:
        return await service.cancel_job(job, "not needed")

    result = run(database, story)
    assert result.success
    assert (result.job_id, result.job_became, result.tasks_cancelled) == (
        job,
        State.CANCELLED,
        (),
    )
    assert (result.status, result.errors) == (CancellationStatus.COMPLETED, ())
    assert [(one.was, one.became, one.rung) for one in result.members] == [
        (State.PENDING, State.CANCELLED, None)
    ]
    assert store.show(job).cancellation_reason == "not needed"


def test_it_waits_until_everything_has_stopped(database: str, store: Store) -> None:
    worker, claimed = start(store)

    async def story(service: CancellationService) -> CancellationResult:
        waiting = asyncio.create_task(service.cancel_job(claimed.id))
        await asked(store, claimed.id)
        assert not waiting.done()
        end(store, worker, claimed)
        return await waiting

    result = run(database, story)
    assert result.success
    assert result.runners_terminated == (str(worker.id),)
    assert [one.rung for one in result.members] == [Rung.INTERRUPTED]
    assert store.show(claimed.id).cancellation_reason == "User requested cancellation"


def test_its_beginning_its_steps_and_its_end_are_logged(
    database: str, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    job = make_job(store)

    async def story(service: CancellationService) -> CancellationResult:
        return await service.cancel_job(job, "not needed")

    with caplog.at_level(logging.INFO, "tenure"):
        name = run(database, story).cancellation_id
    begin, *steps, end = [record.getMessage() for record in caplog.records]
    assert begin.startswith(f"{name} of job {job}: ")
    assert begin.endswith("cancels it: not needed")
    assert [step.split()[-3] for step in steps] == [
        "stop_assignment",
        "terminate_runners",
        "cancel_pending",
        "update_tasks",
        "release_slots",
        "preserve_artifacts",
    ]
    assert re.fullmatch(rf"{name} of job {job}: completed in \d+\.\d{{3}} s", end)
    told = {(one.tenant, one.job, one.cancellation) for one in caplog.records}  # type: ignore[attr-defined]
    assert told == {("default", job, name)}


def test_a_job_may_be_named_by_its_key(database: str, store: Store) -> None:
    make_job(store, key="report")

    async def story(service: CancellationService) -> CancellationStatus:
        assert (await service.cancel_job("report")).success
        with pytest.raises(JobNotFound, match="no job with the key 'other'"):
            await service.cancel_job("other")
        return await service.get_cancellation_status("report")

    assert run(database, story) is CancellationStatus.COMPLETED


@pytest.mark.parametrize("state", [State.COMPLETED, State.FAILED])
def test_a_job_that_has_ended_is_refused(database: str, store: Store, state: State) -> None:
    job = make_job_in(store, state)
    before = store.cancellations()

    async def story(service: CancellationService) -> None:
        with pytest.raises(IllegalTransition, match=f"cannot cancel a job that is {state}"):
            await service.cancel_job(job)

    run(database, story)
    assert store.cancellations() == before, "a refusal makes no record"


def test_a_job_that_is_cancelled_answers_with_its_record(database: str, store: Store) -> None:
    job = make_job(store)

    async def story(service: CancellationService) -> list[CancellationResult]:
        return [await service.cancel_job(job, "not needed") for _ in range(2)]

    first, again = run(database, story)
    assert again.cancellation_id == first.cancellation_id
    assert again.success
    assert len(store.cancellations()) == 1


def test_a_job_that_does_not_exist_is_refused(database: str, store: Store) -> None:
    async def story(service: CancellationService) -> None:
        for ask in (service.cancel_job, service.cancel_task, service.get_cancellation_status):
            with pytest.raises(JobNotFound, match="there is no job 999"):
                await ask(999)

    run(database, story)
    assert store.cancellations() == ()


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ({"timeout": "soon"}, "'soon'"),
        ({"grace": -1}, "-1"),
        ({"reason": ""}, "the reason of a stop is empty"),
        ({"last_rung": "expired"}, "last_rung"),
        ({"strategy": "unheard of"}, "unheard of"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_any_record(
    database: str, store: Store, how: dict[str, Any], sentence: str
) -> None:
    job = make_job(store)

    async def story(service: CancellationService) -> None:
        with pytest.raises(InputRefused, match=sentence):
            await service.cancel_job(job, **how)

    run(database, story)
    assert store.cancellations() == ()
    assert store.show(job).state is State.PENDING


def test_with_all_tasks_completed_there_is_nothing_to_cancel(database: str, store: Store) -> None:
    ids = make_jobs(store, [NewJob(key="root"), NewJob(key="a", task="work", parent="root")])
    worker = make_worker(store)
    worker.finish(worker.claim_one())
    promote(store)

    async def story(service: CancellationService) -> None:
        with pytest.raises(IllegalTransition, match="cannot cancel a job that is completed"):
            await service.cancel_job(ids["root"])

    run(database, story)
    assert store.cancellations() == ()


def test_completed_tasks_are_told_apart_and_kept(database: str, store: Store) -> None:
    tasks = [NewJob(task="work", parent="root", key=key) for key in "abc"]
    ids = make_jobs(store, [NewJob(key="root"), *tasks])
    worker = make_worker(store)
    worker.finish(worker.claim_one(), value=1)

    async def story(service: CancellationService) -> CancellationResult:
        return await service.cancel_job(ids["root"])

    result = run(database, story)
    assert result.tasks_completed == (ids["a"],)
    assert result.tasks_cancelled == (ids["b"], ids["c"])
    assert store.show(ids["a"]).result == 1


def test_without_any_runner_there_is_none_to_terminate(database: str, store: Store) -> None:
    ids = make_jobs(store, [NewJob(key="root"), NewJob(key="a", task="work", parent="root")])

    async def story(service: CancellationService) -> CancellationResult:
        return await service.cancel_job(ids["root"])

    result = run(database, story)
    assert (result.success, result.runners_terminated) == (True, ())


# Asking more than once.


def test_asked_again_it_is_the_same_cancellation(
    database: str, store: Store, answered: Answered
) -> None:
    worker, claimed = start(store)

    async def story(service: CancellationService) -> list[CancellationResult]:
        first = asyncio.create_task(service.cancel_job(claimed.id, "first"))
        await asked(store, claimed.id)
        second = asyncio.create_task(service.cancel_job(claimed.id, "second"))
        third = asyncio.create_task(service.cancel_job(claimed.id, "third", force=True))
        await answered(3)
        assert store.cancellation(job=claimed.id).force, "it is escalated"
        end(store, worker, claimed)
        return [await first, await second, await third]

    results = run(database, story)
    assert len({result.cancellation_id for result in results}) == 1
    assert len(store.cancellations()) == 1
    assert store.show(claimed.id).cancellation_reason == "first"


def test_two_services_at_once_make_one_record(
    database: str, store: Store, answered: Answered
) -> None:
    worker, claimed = start(store)

    async def story(service: CancellationService) -> list[CancellationResult]:
        async with Client(database, settings=Settings()) as other:
            services = (service, CancellationService(other))
            asking = [
                asyncio.create_task(one.cancel_job(claimed.id)) for one in services for _ in "12345"
            ]
            await answered(10)
            end(store, worker, claimed)
            return await asyncio.gather(*asking)

    results = run(database, story)
    assert len({result.cancellation_id for result in results}) == 1
    assert all(result.success for result in results)
    assert len(store.cancellations()) == 1


# Waiting.


def test_a_stop_continues_after_the_wait_times_out(database: str, store: Store) -> None:
    worker, claimed = start(store)

    async def story(service: CancellationService) -> CancellationStatus:
        with pytest.raises(
            JobNotEnded, match=r"^cancel-\w+ is stopping_runners after 100ms of waiting$"
        ):
            await service.cancel_job(claimed.id, timeout="100ms")
        assert (
            await service.get_cancellation_status(claimed.id)
        ) is CancellationStatus.STOPPING_RUNNERS
        end(store, worker, claimed)
        return await service.get_cancellation_status(claimed.id)

    assert run(database, story) is CancellationStatus.COMPLETED
    assert store.show(claimed.id).state is State.CANCELLED


def test_without_patience_what_ends_at_once_is_still_a_result(database: str, store: Store) -> None:
    job = make_job(store)

    async def story(service: CancellationService) -> CancellationResult:
        return await service.cancel_job(job, timeout=0)

    assert run(database, story).success


def test_lost_connections_do_not_end_the_wait(
    database: str, store: Store, sql: psycopg.Connection
) -> None:
    worker, claimed = start(store)

    async def story(service: CancellationService) -> CancellationResult:
        waiting = asyncio.create_task(service.cancel_job(claimed.id))
        await asked(store, claimed.id)
        await cut(sql)
        end(store, worker, claimed)
        return await waiting

    assert run(cuttable(database), story).success


# In each phase.


@pytest.mark.parametrize(
    ("step", "status"),
    [
        (None, CancellationStatus.STOPPING_RUNNERS),
        ("update_tasks", CancellationStatus.UPDATING_TASKS),
        ("release_slots", CancellationStatus.CLEANING_RESOURCES),
    ],
)
def test_in_whatever_phase_one_asks_again_it_is_the_same_and_ends(
    database: str, store: Store, answered: Answered, step: str | None, status: CancellationStatus
) -> None:
    worker, claimed = start(store)
    name = store.stop(claimed.id).cancellation_id
    if step is not None:
        store.step(name, step, "in_progress")

    async def story(service: CancellationService) -> CancellationResult:
        assert await service.get_cancellation_status(claimed.id) is status
        waiting = asyncio.create_task(service.cancel_job(claimed.id))
        await answered(1)
        end(store, worker, claimed)
        return await waiting

    result = run(database, story)
    assert (result.cancellation_id, result.success) == (name, True)
    assert len(store.cancellations()) == 1


def test_a_record_that_was_only_begun_ends_too(
    database: str, store: Store, sql: psycopg.Connection
) -> None:
    worker, claimed = start(store)
    name = store.stop(claimed.id).cancellation_id
    sql.execute("UPDATE tenure.cancellation SET status = 'initiated'")

    async def story(service: CancellationService) -> list[CancellationStatus]:
        seen = []
        async for record in service.watch(name):
            seen.append(record.status)
            if len(seen) == 1:
                end(store, worker, claimed)
        return seen

    assert run(database, story) == [CancellationStatus.INITIATED, CancellationStatus.COMPLETED]
