"""The end of an attempt against a stop, a sweep and a report, in every order."""

from collections.abc import Callable
from typing import Any

import pytest

from tenure.domain.lifecycle import Intent, State
from tenure.errors import IllegalTransition
from tenure.store.call import Call
from tenure.store.calls import control_calls, upkeep, worker_calls
from tenure.store.outcomes import Ending, Report
from tenure.store.results import Finished
from tenure.store.store import Store
from tests.factories import ending, make_job, make_worker, promote
from tests.store.races.stage import Stage

FAULT = {"type": "ValueError", "message": "no"}
# The outcome of the attempt, and the state of the job when a stop came first.
AFTER_A_STOP = [
    ({"outcome": "completed", "value": 1}, "completed"),
    ({"outcome": "completed", "value": 1, "heard": True}, "stopped"),
    ({"outcome": "failed", "error": FAULT}, "failed"),
    ({"outcome": "failed", "error": FAULT, "heard": True}, "stopped"),
    ({"outcome": "retry", "error": FAULT}, "stopped"),
    ({"outcome": "stopped", "rung": "interrupted"}, "stopped"),
    ({"outcome": "released"}, "stopped"),
]
# What becomes of it when the stop came too late.
BEFORE_A_STOP = [
    ({"outcome": "completed", "value": 1}, "completed"),
    ({"outcome": "failed", "error": FAULT}, "failed"),
    ({"outcome": "retry", "error": FAULT}, "pending"),
    ({"outcome": "released"}, "pending"),
]
INTENTS = [(Intent.CANCEL, "cancelled"), (Intent.PAUSE, "paused")]


@pytest.mark.parametrize(("intent", "stopped"), INTENTS)
@pytest.mark.parametrize(("said", "becomes"), AFTER_A_STOP)
def test_a_stop_that_came_first_wins_over_all_but_an_ending_that_never_heard_of_it(
    store: Store, stage: Stage, said: dict[str, Any], becomes: str, intent: Intent, stopped: str
) -> None:
    make_job(store)
    worker = make_worker(store)
    job = worker.claim_one()
    a, b = stage.session(), stage.session()

    a(control_calls.stop(job.id, intent=intent))
    early = b(worker_calls.finish(worker.id, [ending(job, **said)]))
    b.commit()
    a.commit()
    late = worker.finish(job, **said)
    promote(store)

    assert (early.busy, early.accepted, early.refused) == ((job.id,), {}, ())
    assert late.accepted == {job.id: State(stopped if becomes == "stopped" else becomes)}
    assert stage.open_records() == 0
    assert stage.one("SELECT count(*) FROM tenure.signal") == 0
    kept = store.show(job.id)
    assert (kept.result == 1) == (late.accepted[job.id] is State.COMPLETED)
    if said.get("value") and becomes == "stopped":
        assert [partial["value"] for partial in store.job_output(job.id, "partials")] == [1]


@pytest.mark.parametrize(("intent", "stopped"), INTENTS)
@pytest.mark.parametrize(("said", "becomes"), BEFORE_A_STOP)
def test_an_ending_that_came_first_is_never_undone_by_a_stop(
    store: Store, stage: Stage, said: dict[str, Any], becomes: str, intent: Intent, stopped: str
) -> None:
    make_job(store)
    worker = make_worker(store)
    job = worker.claim_one()
    a, b = stage.session(), stage.session()

    assert a(worker_calls.finish(worker.id, [ending(job, **said)])).accepted == {
        job.id: State(becomes)
    }
    stop = stage.waits(b, control_calls.stop(job.id, intent=intent))
    a.commit()

    if becomes == "pending":
        assert stop.result().status == "completed"
        b.commit()
        assert stage.states(job.id) == (stopped,)
        assert worker.claim() == ()
    else:
        with pytest.raises(IllegalTransition, match=f"a job that is {becomes}"):
            stop.result()
        b.rollback()
        assert stage.states(job.id) == (becomes,)
        assert stage.one("SELECT count(*) FROM tenure.cancellation") == 0


def test_cancelled_is_never_overwritten_by_a_completion(store: Store, stage: Stage) -> None:
    make_job(store)
    worker = make_worker(store)
    job = worker.claim_one()
    store.stop(job.id)
    worker.finish(job, "stopped", rung="interrupted", heard=True)

    again = worker.finish(job, "completed", value="late")

    assert again.refused == (job.id,)
    assert stage.states(job.id) == ("cancelled",)
    assert store.show(job.id).result is None


@pytest.mark.parametrize("order", ["stop first", "crash first"])
def test_a_crash_against_a_stop_ends_stopped(store: Store, stage: Stage, order: str) -> None:
    make_job(store)
    worker = make_worker(store)
    job = worker.claim_one()
    a, b = stage.session(), stage.session()

    if order == "stop first":
        a(control_calls.stop(job.id))
        said = [Ending(job=job.id, token=job.token)]
        assert b(worker_calls.crash(worker.id, said)).busy == (job.id,)
        b.commit()
        a.commit()
        assert worker.crash(job).accepted == {job.id: State.CANCELLED}
    else:
        a(worker_calls.crash(worker.id, [Ending(job=job.id, token=job.token)]))
        stop = stage.waits(b, control_calls.stop(job.id))
        a.commit()
        stop.result()
        b.commit()
    promote(store)

    assert stage.states(job.id) == ("cancelled",)
    assert store.show(job.id).crashes == 1
    assert stage.open_records() == 0


@pytest.mark.parametrize("outcome", ["completed", "failed", "retry", "released", "stopped"])
def test_an_ending_during_a_sweep_is_busy_and_afterwards_refused(
    store: Store, stage: Stage, outcome: Any
) -> None:
    make_job(store)
    worker = make_worker(store)
    job = worker.claim_one()
    stage.expire(worker.id)
    a = stage.session()

    assert [taken.job for taken in a(upkeep.recover()).recovered] == [job.id]
    assert worker.finish(job, outcome).busy == (job.id,)
    a.commit()

    assert worker.finish(job, outcome).refused == (job.id,)
    assert stage.states(job.id) == ("pending",)
    events = [event["kind"] for event in store.job_output(job.id, "events")]
    assert events.count("refused") == 1


def test_an_ending_is_accepted_when_the_sweep_is_rolled_back(store: Store, stage: Stage) -> None:
    make_job(store)
    worker = make_worker(store)
    job = worker.claim_one()
    stage.expire(worker.id)
    a = stage.session()

    a(upkeep.recover())
    assert worker.finish(job).busy == (job.id,)
    a.rollback()

    assert worker.finish(job).accepted == {job.id: State.COMPLETED}


@pytest.mark.parametrize(
    ("say", "becomes"), [(worker_calls.finish, "completed"), (worker_calls.release, "pending")]
)
def test_a_sweep_passes_over_a_worker_whose_ending_is_in_flight(
    store: Store, stage: Stage, say: Callable[..., Call[Finished]], becomes: str
) -> None:
    make_job(store)
    worker = make_worker(store)
    job = worker.claim_one()
    stage.expire(worker.id)
    a = stage.session()

    a(say(worker.id, [ending(job)]))
    swept = store.recover()
    a.commit()

    assert (swept.dead, swept.recovered) == ((), ())
    assert store.recover().recovered == ()
    assert stage.states(job.id) == (becomes,)


@pytest.mark.parametrize("meanwhile", ["the job is stopped", "the job is claimed again"])
def test_a_sweep_frozen_between_its_look_and_its_write_robs_nobody(
    store: Store, stage: Stage, meanwhile: str
) -> None:
    make_job(store)
    dead = make_worker(store)
    job = dead.claim_one()
    stage.expire(dead.id)
    store.recover(ids=[])  # writes the death, takes nothing back
    frozen = stage.session()
    stage.stop_before("conclude", frozen)

    sweep = stage.waits(frozen, upkeep.recover())
    assert [taken.job for taken in store.recover().recovered] == [job.id]
    if meanwhile == "the job is stopped":
        store.stop(job.id)
    else:
        other = make_worker(store)
        again = other.claim_one()
    stage.go_on()

    assert sweep.result().recovered == ()
    frozen.commit()
    if meanwhile == "the job is stopped":
        assert stage.states(job.id) == ("cancelled",)
    else:
        assert (again.id, again.attempt) == (job.id, 1)
        assert other.finish(again, value="fresh").accepted == {job.id: State.COMPLETED}
        assert store.recover().recovered == ()
        assert stage.states(job.id) == ("completed",)


def test_a_report_in_flight_is_kept_and_its_job_is_recovered_by_the_next_sweep(
    store: Store, stage: Stage
) -> None:
    make_job(store)
    worker = make_worker(store)
    job = worker.claim_one()
    stage.expire(worker.id)
    a = stage.session()
    said = [Report(job=job.id, token=job.token, checkpoint={"page": 7})]

    assert a(worker_calls.report(worker.id, said)).accepted == (job.id,)
    assert store.recover().dead == ()
    a.commit()

    assert [taken.job for taken in store.recover().recovered] == [job.id]
    assert make_worker(store).claim_one().checkpoint == {"page": 7}


def test_a_report_during_a_sweep_is_busy_and_afterwards_refused(store: Store, stage: Stage) -> None:
    make_job(store)
    worker = make_worker(store)
    job = worker.claim_one()
    stage.expire(worker.id)
    a = stage.session()
    said = [Report(job=job.id, token=job.token, checkpoint={"page": 7})]

    a(upkeep.recover())
    assert store.report(worker.id, said).busy == (job.id,)
    a.commit()

    assert store.report(worker.id, said).refused == (job.id,)
    assert make_worker(store).claim_one().checkpoint is None


@pytest.mark.parametrize("who", ["a stop", "a sweep"])
def test_a_resent_busy_report_is_spent_once(store: Store, stage: Stage, who: str) -> None:
    make_job(store, budget={"tokens": 100})
    worker = make_worker(store)
    job = worker.claim_one()
    stage.expire(worker.id)
    a = stage.session()
    said = [Report(job=job.id, token=job.token, spent={"tokens": 60})]

    a(control_calls.stop(job.id)) if who == "a stop" else a(upkeep.recover())
    assert store.report(worker.id, said).busy == (job.id,)
    a.commit()
    store.report(worker.id, said)

    assert store.show(job.id).spent == {"tokens": 60}
