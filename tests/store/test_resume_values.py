"""Values passed to resume: which attempts get them, and until when."""

import json
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from tenure.domain.job import Job
from tenure.domain.lifecycle import Intent
from tenure.errors import IllegalTransition, InputRefused
from tenure.store.calls import control_calls
from tenure.store.outcomes import Report
from tenure.store.results import Claimed
from tenure.store.store import Store
from tests.factories import Worker, make_job, make_worker, promote

PAUSE = {"type": "tenure.Pause", "message": "needs a human"}


def pause(worker: Worker, job: Claimed) -> None:
    worker.finish(job, "stopped", intent="pause", error=PAUSE)


def resume(store: Store, job: int, value: Any = None, **options: Any) -> Job:
    carried = None if value is None else json.dumps(value)
    return store.send(control_calls.resume(job, value=carried, **options))


@pytest.fixture
def worker(store: Store) -> Worker:
    return make_worker(store, timedelta(hours=1))


@pytest.fixture
def job(store: Store, worker: Worker) -> int:
    """A job that has paused itself."""
    job = make_job(store)
    pause(worker, worker.claim_one())
    return job


def given(worker: Worker) -> tuple[Claimed, Any]:
    promote(worker.store)
    claimed = worker.claim_one()
    raw = claimed.raw_resume_value
    return claimed, None if raw is None else json.loads(raw)


def test_the_next_attempt_gets_the_value(store: Store, worker: Worker, job: int) -> None:
    resume(store, job, {"approved": True}, reason="looks good", by="ada")
    claimed, value = given(worker)
    assert (claimed.id, value) == (job, {"approved": True})
    [row] = [row for row in store.audit_log() if row.verb == "resume"]
    assert (row.actor, row.after) == (
        "ada",
        {"fresh": False, "jobs": [job], "value": {"approved": True}},
    )


@pytest.mark.parametrize("end", ["crash", "release", "retry", "failed"])
def test_each_attempt_gets_the_value_until_a_checkpoint_is_saved(
    store: Store, worker: Worker, job: int, end: str
) -> None:
    resume(store, job, "yes")
    claimed, _ = given(worker)
    match end:
        case "crash":
            worker.crash(claimed)
        case "release":
            worker.finish(claimed, "released")
        case "retry":
            worker.finish(claimed, "retry", error={"message": "no"})
        case "failed":
            worker.finish(claimed, "failed", error={"message": "no"})
            resume(store, job)
    assert given(worker)[1] == "yes"


def test_a_checkpoint_takes_the_place_of_the_value(store: Store, worker: Worker, job: int) -> None:
    resume(store, job, "yes")
    claimed, _ = given(worker)
    told = [Report(job=job, token=claimed.token, progress={"done": 1})]
    store.report(worker.id, told)
    worker.crash(claimed)
    claimed, value = given(worker)
    assert value == "yes", "progress keeps nothing"
    told = [Report(job=job, token=claimed.token, checkpoint={"answer": "yes"})]
    assert store.report(worker.id, told).accepted == (job,)
    worker.crash(claimed)
    claimed, value = given(worker)
    assert (value, claimed.checkpoint) == (None, {"answer": "yes"})


def test_a_job_that_pauses_itself_again_needs_another_value(
    store: Store, worker: Worker, job: int
) -> None:
    resume(store, job, "first")
    claimed, _ = given(worker)
    pause(worker, claimed)
    resume(store, job)
    claimed, value = given(worker)
    assert value is None
    pause(worker, claimed)
    resume(store, job, "second")
    assert given(worker)[1] == "second"


def test_a_pause_by_a_user_does_not_remove_the_value(
    store: Store, worker: Worker, job: int
) -> None:
    resume(store, job, "yes")
    store.stop(job, intent=Intent.PAUSE)
    resume(store, job)
    assert given(worker)[1] == "yes"


def test_a_fresh_start_forgets_the_value(store: Store, worker: Worker, job: int) -> None:
    resume(store, job, "yes")
    store.stop(job, intent=Intent.PAUSE)
    resume(store, job, fresh=True)
    assert given(worker)[1] is None


def test_a_value_is_for_the_job_that_is_named(store: Store, worker: Worker) -> None:
    parent = make_job(store)
    child = make_job(store, parent=parent)
    store.stop(parent, intent=Intent.PAUSE)
    resume(store, parent, "for the parent")
    promote(store)
    values = {claimed.id: claimed.raw_resume_value for claimed in worker.claim(2)}
    assert values == {parent: b'"for the parent"', child: None}


def test_one_of_two_resumes_is_refused_and_its_value_lost_with_it(
    store: Store, worker: Worker, job: int
) -> None:
    resume(store, job, "first")
    with pytest.raises(IllegalTransition, match="cannot resume a job that is queued"):
        resume(store, job, "second")
    assert given(worker)[1] == "first"


def test_a_value_that_cannot_be_stored_is_refused(
    store: Store, sql: psycopg.Connection, job: int
) -> None:
    with pytest.raises(InputRefused, match="at most 1048576 bytes"):
        resume(store, job, [n * 2654435761 % 10**15 for n in range(150_000)])
    deep = "[" * 80 + "]" * 80
    with pytest.raises(InputRefused, match="nested more than 64 levels"):
        store.send(control_calls.resume(job, value=deep))
    assert store.show(job).status == "paused"


def test_a_job_that_pauses_itself_has_a_reason_and_no_error(store: Store, job: int) -> None:
    seen = store.show(job)
    assert (seen.pause_reason, seen.error, seen.error_message) == ("needs a human", None, None)
    [reason] = store.explain(job).reasons
    assert reason.sentence == "it paused itself: needs a human; resume it to continue"
    resume(store, job)
    assert store.show(job).pause_reason is None
    store.stop(job, intent=Intent.PAUSE, reason="wait", by="ada")
    seen = store.show(job)
    assert (seen.pause_reason, seen.cancelled_by) == ("wait", "ada")
    [reason] = store.explain(job).reasons
    assert reason.sentence == "it was paused by ada: wait; resume it to continue"


def test_a_job_paused_by_its_worker_does_not_count_as_having_paused_itself(
    store: Store, worker: Worker
) -> None:
    job = make_job(store)
    error = {"type": "tenure.Drained", "message": "the worker drains"}
    worker.finish(worker.claim_one(), "stopped", intent="pause", error=error)
    seen = store.show(job)
    assert (seen.pause_reason, seen.error_message) == ("the worker drains",) * 2
    [reason] = store.explain(job).reasons
    assert reason.sentence == "it was paused: the worker drains; resume it to continue"
