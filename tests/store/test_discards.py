"""Artifacts that a stop does not preserve: who is on the list, and when they count as gone."""

from datetime import timedelta
from typing import Any

import pytest

from tenure.domain.cancellation import CancellationRecord
from tenure.domain.job import NewJob
from tenure.domain.lifecycle import Intent
from tenure.store.outcomes import Artifact, Report
from tenure.store.results import Claimed
from tenure.store.store import Store
from tenure.testing import Clock
from tests.factories import Worker, end_as_stopped, make_job, make_jobs, make_worker, promote

DISCARD = {"preserve_artifacts": False}


def keep(worker: Worker, job: Claimed, *names: str) -> list[str]:
    kept = [Artifact(name, f"file:///kept/{job.id}/{name}", 1) for name in names]
    worker.store.report(worker.id, [Report(job=job.id, token=job.token, artifacts=kept)])
    return [artifact.url for artifact in kept]


def running(store: Store, **fields: Any) -> tuple[Worker, Claimed, list[str]]:
    make_job(store, **fields)
    worker = make_worker(store)
    job = worker.claim_one()
    return worker, job, keep(worker, job, "a.txt", "b.txt")


def record_of(store: Store, job: int) -> CancellationRecord:
    promote(store)
    return store.cancellation(job=job)


@pytest.mark.parametrize(
    ("options", "preserve", "discarded"),
    [
        (None, None, False),
        (None, True, False),
        (None, False, True),
        (DISCARD, None, True),
        (DISCARD, True, False),
        (DISCARD, False, True),
    ],
)
def test_the_stop_decides_and_else_the_task(
    store: Store, options: Any, preserve: bool | None, discarded: bool
) -> None:
    worker, job, urls = running(store, options=options)
    store.stop(job.id, preserve=preserve)
    assert store.discards() == ()
    end_as_stopped(worker, job)
    record = record_of(store, job.id)
    assert len(record.artifacts_preserved) == 2
    assert [(it.job_id, set(it.urls)) for it in store.discards()] == (
        [(job.id, set(urls))] if discarded else []
    )


def test_what_is_deleted_is_not_on_the_record_any_more(store: Store) -> None:
    worker, job, urls = running(store)
    store.stop(job.id, preserve=False)
    end_as_stopped(worker, job)
    assert record_of(store, job.id).completed_at is not None
    assert len(store.discards()) == 1
    assert store.discarded(job.id, urls)["left"] == 0
    record = store.cancellation(job=job.id)
    assert record.artifacts_preserved == ()
    assert record.progress[-1].details == {"artifacts": 0, "partials": 0}
    assert store.show(job.id).artifacts == ()
    assert store.discards() == ()


def test_what_was_not_found_stays_on_the_list(store: Store, clock: Clock) -> None:
    worker, job, urls = running(store)
    store.stop(job.id, preserve=False)
    end_as_stopped(worker, job)
    promote(store)
    assert [it.tries for it in store.discards()] == [1]
    assert store.discarded(job.id, urls[:1], error="the store is away") == {
        "job": job.id,
        "gone": 1,
        "left": 1,
    }
    assert store.discards() == ()
    clock.advance(timedelta(minutes=2))
    assert [(it.tries, it.urls) for it in store.discards()] == [(2, (urls[1],))]
    store.discarded(job.id, urls)
    clock.advance(timedelta(hours=2))
    assert store.discards() == ()


def test_a_worker_that_says_nothing_leaves_it_to_another(store: Store, clock: Clock) -> None:
    worker, job, _urls = running(store)
    store.stop(job.id, preserve=False)
    end_as_stopped(worker, job)
    promote(store)
    store.discards()
    clock.advance(timedelta(hours=2))
    assert [(it.job_id, it.tries) for it in store.discards()] == [(job.id, 2)]


def test_also_when_its_worker_died(store: Store, clock: Clock) -> None:
    _worker, job, urls = running(store)
    store.stop(job.id, preserve=False)
    clock.advance(timedelta(minutes=1))
    store.recover()
    store.recover()
    clock.advance(timedelta(minutes=1))
    store.recover()
    record = record_of(store, job.id)
    assert record.members[0].rung == "expired"
    assert [set(it.urls) for it in store.discards()] == [set(urls)]


def test_also_when_it_was_paused_or_waiting_for_a_retry(store: Store) -> None:
    worker, paused, _urls = running(store)
    store.stop(paused.id, intent=Intent.PAUSE)
    end_as_stopped(worker, paused)
    promote(store)
    assert store.discards() == ()
    _worker, retried, _urls = running(store)
    _worker.finish(retried, "released")
    for job in (paused, retried):
        store.stop(job.id, preserve=False)
    assert {it.job_id for it in store.discards()} == {paused.id, retried.id}


def test_also_when_it_returned_after_it_had_heard_of_the_stop(store: Store) -> None:
    worker, job, _urls = running(store)
    store.stop(job.id, preserve=False)
    worker.finish(job, value=1, heard=True)
    promote(store)
    assert store.show(job.id).state == "cancelled"
    assert [it.job_id for it in store.discards()] == [job.id]


def test_what_had_completed_keeps_its_artifacts(store: Store) -> None:
    ids = make_jobs(
        store,
        [
            NewJob(key="top"),
            *(NewJob(task="work", parent="top", key=key) for key in ("done", "runs", "waits")),
        ],
    )
    worker = make_worker(store)
    done, runs = worker.claim(2)
    keep(worker, done, "a")
    keep(worker, runs, "a")
    worker.finish(done)
    store.stop(ids["top"], preserve=False)
    end_as_stopped(worker, runs)
    promote(store)
    assert [it.job_id for it in store.discards()] == [ids["runs"]]


def test_a_job_that_completed_before_it_heard_keeps_its_artifacts(store: Store) -> None:
    worker, job, _urls = running(store)
    store.stop(job.id, preserve=False)
    worker.finish(job, value=1)
    promote(store)
    assert store.show(job.id).state == "completed"
    assert store.discards() == ()


def test_nobody_can_say_of_other_artifacts_that_they_are_gone(store: Store) -> None:
    _worker, job, urls = running(store)
    assert store.discarded(job.id, urls) == {"job": job.id, "gone": 0, "left": 2}
    assert len(store.show(job.id).artifacts) == 2


def test_a_member_that_could_not_be_confirmed_is_waited_for(store: Store) -> None:
    worker, job, _urls = running(store)
    record = store.stop(job.id, preserve=False)
    store.close_record(record.cancellation_id, "partial", error="pid 7 is in D state")
    assert store.discards() == ()
    end_as_stopped(worker, job)
    assert [it.job_id for it in store.discards()] == [job.id]
