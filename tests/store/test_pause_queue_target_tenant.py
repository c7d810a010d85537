"""pause_dispatch and resume_dispatch: a queue, a target, or the whole tenant."""

from datetime import timedelta

import pytest

from tenure.domain.lifecycle import State
from tenure.errors import InputRefused
from tenure.store.store import Store
from tenure.testing import Clock
from tests.factories import make_job, make_worker, promote

ERROR = {"type": "ValueError", "message": "no"}


def test_nothing_of_a_paused_queue_is_started(store: Store) -> None:
    slow, fast = make_job(store, queue="slow", priority=9), make_job(store, queue="fast")
    assert store.pause_dispatch("queue", "slow", reason="maintenance") == {"paused": True}
    worker = make_worker(store)
    assert [job.id for job in worker.claim(10)] == [fast]
    assert make_job(store, queue="slow") > slow, "what is paused can still be enqueued to"
    assert worker.claim(10, queues=["slow"]) == ()
    assert store.resume_dispatch("queue", "slow") == {"resumed": True}
    assert worker.claim(10)[0].id == slow


def test_running_jobs_of_a_paused_queue_continue(store: Store) -> None:
    make_job(store)
    worker = make_worker(store)
    job = worker.claim_one()
    store.pause_dispatch("queue", "default")
    assert store.renew(worker.id).signals == ()
    assert worker.finish(job, "retry", error=ERROR).accepted == {job.id: State.PENDING}
    assert worker.claim(10) == ()
    store.resume_dispatch("queue", "default")
    assert worker.finish(worker.claim_one()).accepted == {job.id: State.COMPLETED}


def test_a_paused_tenant_starts_nothing_in_any_queue(store: Store) -> None:
    for queue in ("a", "b"):
        make_job(store, queue=queue)
    store.pause_dispatch("tenant")
    worker = make_worker(store)
    assert worker.claim(10) == ()
    assert worker.claim(10, queues=["a"]) == ()
    store.resume_dispatch("tenant")
    assert len(worker.claim(10)) == 2


def test_whoever_was_next_in_a_paused_target_waits_in_its_place(store: Store) -> None:
    first = make_job(store, target="site:x")
    promote(store)
    store.pause_dispatch("target", "site:x")
    worker = make_worker(store)
    assert worker.claim(10) == ()
    rival = make_job(store, target="site:x", priority=9)
    promote(store)
    assert worker.claim(10) == ()
    store.resume_dispatch("target", "site:x")
    promote(store)
    job = worker.claim_one()
    assert job.id == first
    worker.finish(job)
    promote(store)
    assert worker.claim_one().id == rival


def test_no_other_job_of_a_paused_target_follows_the_one_that_runs(store: Store) -> None:
    for _ in range(2):
        make_job(store, target="site:x")
    free = make_job(store, target="site:y")
    promote(store)
    worker = make_worker(store)
    first = next(job for job in worker.claim(10) if job.id != free)
    store.pause_dispatch("target", "site:x")
    assert worker.finish(first).accepted == {first.id: State.COMPLETED}
    promote(store)
    assert worker.claim(10) == ()
    store.resume_dispatch("target", "site:x")
    promote(store)
    assert len(worker.claim(10)) == 1


def test_a_job_that_comes_back_to_a_paused_target_waits(store: Store, clock: Clock) -> None:
    make_job(store, target="site:x")
    promote(store)
    worker = make_worker(store, timedelta(days=1))
    job = worker.claim_one()
    store.pause_dispatch("target", "site:x")
    worker.finish(job, "retry", error=ERROR)
    scheduled = make_job(store, target="site:y", delay=timedelta(minutes=1))
    store.pause_dispatch("target", "site:y")
    clock.advance(timedelta(minutes=2))
    promote(store)
    assert worker.claim(10) == ()
    store.resume_dispatch("target", "site:x")
    store.resume_dispatch("target", "site:y")
    promote(store)
    assert {claimed.id for claimed in worker.claim(10)} == {job.id, scheduled}


def test_pausing_is_by_kind_and_name(store: Store) -> None:
    make_job(store, queue="same")
    store.pause_dispatch("target", "same")
    store.pause_dispatch("queue", "other")
    assert len(make_worker(store).claim(10)) == 1


def test_asking_twice_changes_nothing(store: Store) -> None:
    make_job(store)
    assert store.pause_dispatch("queue", "default", reason="first")["paused"] is True
    assert store.pause_dispatch("queue", "default", reason="second")["paused"] is False
    (sentence,) = (
        reason.sentence for reason in store.explain(1).reasons if reason.reason == "queue paused"
    )
    assert sentence.endswith(": first")
    assert store.resume_dispatch("queue", "default")["resumed"] is True
    assert store.resume_dispatch("queue", "default")["resumed"] is False
    assert len(make_worker(store).claim(10)) == 1


def test_what_is_neither_a_queue_nor_a_target_nor_the_tenant_is_refused(store: Store) -> None:
    for subject, name in (("pond", "x"), ("queue", ""), ("target", ""), ("tenant", "x")):
        with pytest.raises(InputRefused, match="what is paused is"):
            store.pause_dispatch(subject, name)  # type: ignore[arg-type]
