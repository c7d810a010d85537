"""Resume and clear against stops, promotion, keys and each other."""

from typing import Any

import pytest

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import Intent, State
from tenure.errors import IllegalTransition, JobNotFound, KeyTaken
from tenure.store.call import Call
from tenure.store.calls import control_calls, enqueue_calls
from tenure.store.store import Store
from tests.factories import make_job, make_job_in, make_jobs, make_worker, promote
from tests.store.races.stage import Stage


@pytest.mark.parametrize("state", [State.PAUSED, State.FAILED])
def test_the_second_of_two_resumes_is_refused(store: Store, stage: Stage, state: State) -> None:
    job = make_job_in(store, state)
    a, b = stage.session(), stage.session()

    a(control_calls.resume(job))
    second = stage.waits(b, control_calls.resume(job))
    a.commit()

    with pytest.raises(IllegalTransition):
        second.result()
    b.rollback()
    assert len(make_worker(store).claim(5)) == 1
    assert stage.one("SELECT count(*) FROM tenure.audit WHERE verb = 'resume'") == 1


def test_a_second_resume_counts_when_the_first_is_rolled_back(store: Store, stage: Stage) -> None:
    job = make_job_in(store, State.PAUSED)
    a, b = stage.session(), stage.session()

    a(control_calls.resume(job))
    second = stage.waits(b, control_calls.resume(job))
    a.rollback()

    assert second.result().state is State.PENDING
    b.commit()
    assert make_worker(store).claim_one().id == job


@pytest.mark.parametrize("first", ["resume", "stop"])
def test_a_resume_against_a_cancel_ends_cancelled(store: Store, stage: Stage, first: str) -> None:
    job = make_job_in(store, State.PAUSED)
    a, b = stage.session(), stage.session()

    if first == "resume":
        a(control_calls.resume(job))
        stop = stage.waits(b, control_calls.stop(job))
        a.commit()
        assert stop.result().status == "completed"
        b.commit()
    else:
        a(control_calls.stop(job))
        resume = stage.waits(b, control_calls.resume(job))
        a.commit()
        with pytest.raises(IllegalTransition, match="cancelled"):
            resume.result()
        b.rollback()

    assert stage.states(job) == ("cancelled",)
    assert make_worker(store).claim() == ()


def test_a_task_cannot_be_resumed_while_its_parent_is_being_cancelled(
    store: Store, stage: Stage
) -> None:
    ids = make_jobs(store, [NewJob(key="root"), NewJob(task="work", key="child", parent="root")])
    store.stop(ids["child"], intent=Intent.PAUSE)
    a, b = stage.session(), stage.session()

    a(control_calls.stop(ids["root"]))
    resume = stage.waits(b, control_calls.resume(ids["child"]))
    a.commit()

    with pytest.raises(IllegalTransition):
        resume.result()
    b.rollback()
    promote(store)
    assert set(stage.states(*ids.values())) == {"cancelled"}


@pytest.mark.parametrize("first", ["resume", "clear"])
def test_a_resume_against_a_clear_takes_one_of_them(store: Store, stage: Stage, first: str) -> None:
    job = make_job_in(store, State.FAILED)
    a, b = stage.session(), stage.session()
    calls: list[Call[Any]] = [control_calls.resume(job), control_calls.clear(job)]
    if first == "clear":
        calls.reverse()

    a(calls[0])
    second = stage.waits(b, calls[1])
    a.commit()

    with pytest.raises(IllegalTransition):
        second.result()
    b.rollback()
    assert stage.states(job) == ("pending" if first == "resume" else "cancelled",)


@pytest.mark.parametrize("first", ["resume", "promote"])
def test_a_task_resumed_while_its_failure_is_carried_up_leaves_its_parents_open(
    store: Store, stage: Stage, first: str
) -> None:
    ids = make_jobs(
        store,
        [
            NewJob(key="root"),
            NewJob(key="stage", parent="root"),
            NewJob(key="step", parent="stage"),
            NewJob(task="work", key="leaf", parent="step"),
        ],
    )
    worker = make_worker(store)
    worker.finish(worker.claim_one(), "failed")
    a, b = stage.session(), stage.session()

    calls: list[Call[Any]] = [control_calls.resume(ids["leaf"]), enqueue_calls.promote()]
    if first == "promote":
        calls.reverse()
    a(calls[0])
    second = stage.sent(b, calls[1])
    stage.is_waiting(b, second)
    a.commit()
    second.result()
    b.commit()
    promote(store)

    assert stage.states(ids["step"]) == ("pending",), "it failed with a task still open"
    worker.finish(worker.claim_one())
    promote(store)
    assert set(stage.states(*ids.values())) == {"completed"}


@pytest.mark.parametrize("fate", ["commit", "rollback"])
def test_a_resume_whose_unique_key_is_being_taken_waits_then_succeeds_or_is_refused(
    store: Store, stage: Stage, fate: str
) -> None:
    job = make_job_in(store, State.FAILED, unique="key")
    a, b = stage.session(), stage.session()

    a.enqueue(NewJob(task="work", unique="key"))
    resume = stage.waits(b, control_calls.resume(job))
    if fate == "commit":
        a.commit()
        with pytest.raises(KeyTaken, match="unique key"):
            resume.result()
        b.rollback()
        assert stage.states(job) == ("failed",)
    else:
        a.rollback()
        resume.result()
        b.commit()
        assert stage.states(job) == ("pending",)


def test_an_enqueue_that_waits_for_a_resume_of_its_key_returns_the_resumed_job(
    store: Store, stage: Stage
) -> None:
    job = make_job_in(store, State.FAILED, unique="key")
    a, b = stage.session(), stage.session()

    a(control_calls.resume(job))
    enqueue = stage.waits(b, enqueue_calls.enqueue(NewJob(task="work", unique="key")))
    a.commit()

    (answer,) = enqueue.result()
    assert (answer.id, answer.created, answer.taken) == (job, False, "unique")
    b.commit()


@pytest.mark.parametrize("verb", ["resume", "clear"])
def test_a_verb_that_waits_for_prune_finds_no_job(store: Store, stage: Stage, verb: str) -> None:
    job = make_job_in(store, State.FAILED)
    a, b = stage.session(), stage.session()
    a.connection.execute("""SELECT tenure.prune('{"failed": "0"}')""")

    call: Call[Any] = control_calls.resume(job) if verb == "resume" else control_calls.clear(job)
    waiting = stage.waits(b, call)
    a.commit()

    with pytest.raises(JobNotFound):
        waiting.result()
    b.rollback()


def test_a_child_in_flight_at_a_pause_continues_when_the_parent_was_resumed_first(
    store: Store, stage: Stage
) -> None:
    parent = make_job(store)
    a = stage.session()

    (child,) = a.enqueue(NewJob(task="work", parent=parent))
    store.stop(parent, intent=Intent.PAUSE)
    store.resume(parent)
    a.commit()
    promote(store)

    assert stage.is_ready(child.id)
