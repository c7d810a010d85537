"""A stop against sweeps, promotion, other stops and children that are on their way."""

import pytest

from tenure.domain.job import NEVER, After, NewJob
from tenure.domain.lifecycle import Intent, State
from tenure.errors import IllegalTransition, JobNotFound
from tenure.store.calls import control_calls, enqueue_calls, upkeep
from tenure.store.store import Store
from tests.factories import make_job, make_jobs, make_worker, promote
from tests.store.races.stage import Stage


def test_a_sweep_during_a_stop_leaves_the_job_to_the_next_sweep(store: Store, stage: Stage) -> None:
    make_job(store)
    worker = make_worker(store)
    job = worker.claim_one()
    stage.expire(worker.id)
    a = stage.session()

    a(control_calls.stop(job.id))
    swept = store.recover()
    a.commit()
    again = store.recover()
    promote(store)

    assert (swept.recovered, swept.busy) == ((), (job.id,))
    assert [(taken.job, taken.state) for taken in again.recovered] == [(job.id, State.CANCELLED)]
    (member,) = store.cancellation(job=job.id).members
    assert (member.became, member.rung) == (State.CANCELLED, "expired")
    assert stage.open_records() == 0


def test_a_stop_that_waits_for_a_sweep_cancels_what_it_took_back(
    store: Store, stage: Stage
) -> None:
    make_job(store)
    worker = make_worker(store)
    job = worker.claim_one()
    stage.expire(worker.id)
    a, b = stage.session(), stage.session()

    a(upkeep.recover())
    stop = stage.waits(b, control_calls.stop(job.id))
    a.commit()

    assert stop.result().status == "completed"
    b.commit()
    assert stage.states(job.id) == ("cancelled",)
    assert make_worker(store).claim() == ()


def test_a_child_that_is_committed_before_the_stop_goes_with_it(store: Store, stage: Stage) -> None:
    parent = make_job(store)
    a = stage.session()
    (child,) = a.enqueue(NewJob(task="work", parent=parent))
    a.commit()

    assert child.id in store.stop(parent).tasks_cancelled
    assert stage.states(parent, child.id) == ("cancelled", "cancelled")


def test_a_child_that_is_committed_during_the_stop_is_found_by_the_next_look(
    store: Store, stage: Stage
) -> None:
    parent = make_job(store)
    a, stopping = stage.session(), stage.session()
    stage.stop_before("jobs_to_stop", stopping, passes=1)

    (child,) = a.enqueue(NewJob(task="work", parent=parent))
    stop = stage.waits(stopping, control_calls.stop(parent))
    a.commit()
    stage.go_on()

    assert stop.result().tasks_cancelled == (child.id,)
    stopping.commit()
    assert stage.states(child.id) == ("cancelled",)


@pytest.mark.parametrize("intent", [Intent.CANCEL, Intent.PAUSE])
@pytest.mark.parametrize("promoted", ["before the stop commits", "after the stop commits"])
def test_a_child_in_flight_at_the_stop_never_becomes_ready(
    store: Store, stage: Stage, intent: Intent, promoted: str
) -> None:
    parent = make_job(store)
    a, b = stage.session(), stage.session()

    (child,) = a.enqueue(NewJob(task="work", parent=parent))
    b(control_calls.stop(parent, intent=intent))
    if promoted == "before the stop commits":
        a.commit()
        promote(store)
        assert not stage.is_ready(child.id)
        b.commit()
    else:
        b.commit()
        a.commit()
    promote(store)

    stopped = "cancelled" if intent is Intent.CANCEL else "paused"
    assert stage.states(parent, child.id) == (stopped, stopped)
    if intent is Intent.PAUSE:
        store.resume(parent)
        promote(store)
        assert stage.is_ready(child.id)


def test_a_child_that_comes_after_the_stop_is_refused(store: Store, stage: Stage) -> None:
    parent = make_job(store)
    make_worker(store).claim_one()
    store.stop(parent)

    with pytest.raises(IllegalTransition, match="being stopped"):
        make_job(store, parent=parent)


def test_a_whole_job_in_flight_below_a_stopped_one_never_becomes_ready(
    store: Store, stage: Stage
) -> None:
    parent = make_job(store)
    a = stage.session()

    group, task = a.enqueue(
        NewJob(key="group", parent=parent), NewJob(task="work", key="task", parent="group")
    )
    store.stop(parent)
    a.commit()
    promote(store)

    assert stage.states(parent) == ("cancelled",)
    assert not stage.is_ready(task.id), "it can be claimed below a cancelled job"
    assert stage.states(group.id, task.id) == ("cancelled", "cancelled")


def test_a_child_in_flight_below_a_completed_child_of_a_stopped_job_never_becomes_ready(
    store: Store, stage: Stage
) -> None:
    ids = make_jobs(
        store,
        [
            NewJob(key="root"),
            NewJob(task="work", key="middle", parent="root", priority=1),
            NewJob(task="work", key="other", parent="root"),
        ],
    )
    worker = make_worker(store)
    middle = worker.claim_one()
    assert middle.id == ids["middle"]
    a = stage.session()

    (child,) = a.enqueue(NewJob(task="work", parent=middle.id))
    worker.finish(middle)
    store.stop(ids["root"])
    promote(store)
    assert stage.states(ids["root"]) == ("cancelled",)
    a.commit()
    promote(store)

    assert not stage.is_ready(child.id), "it can be claimed below a cancelled job"


def test_an_unqueued_child_in_flight_at_the_stop_does_not_outlive_its_parent(
    store: Store, stage: Stage
) -> None:
    parent = make_job(store)
    a = stage.session()

    (child,) = a.enqueue(NewJob(task="work", parent=parent, run_at=NEVER))
    store.stop(parent)
    a.commit()
    promote(store)

    assert stage.states(parent, child.id) == ("cancelled", "cancelled")


def test_a_stop_that_waits_for_prune_finds_no_job(store: Store, stage: Stage) -> None:
    job = make_job(store)
    store.stop(job)
    a, b = stage.session(), stage.session()
    a.connection.execute("""SELECT tenure.prune('{"cancelled": "0"}')""")

    stop = stage.waits(b, control_calls.stop(job))
    a.commit()

    with pytest.raises(JobNotFound):
        stop.result()
    b.rollback()


@pytest.mark.parametrize("order", ["promote first", "stop first"])
def test_promotion_against_a_stop_leaves_nothing_ready(
    store: Store, stage: Stage, order: str
) -> None:
    need = make_job(store, priority=1)
    job = make_job(store, after=[need])
    promote(store)
    worker = make_worker(store)
    worker.finish(worker.claim_one())
    a, b = stage.session(), stage.session()

    if order == "promote first":
        a(enqueue_calls.promote())
        stop = stage.waits(b, control_calls.stop(job))
        a.commit()
        stop.result()
        b.commit()
    else:
        b(control_calls.stop(job))
        a(enqueue_calls.promote())
        a.commit()
        b.commit()
        promote(store)

    assert stage.states(job) == ("cancelled",)
    assert stage.one("SELECT count(*) FROM tenure.job WHERE ready") == 0


@pytest.mark.parametrize("policy", ["wait", "fail", "run"])
def test_a_dependent_in_flight_at_the_stop_ends_or_waits_for_a_named_reason(
    store: Store, stage: Stage, policy: str
) -> None:
    need = make_job(store)
    a = stage.session()

    (late,) = a.enqueue(NewJob(task="work", after=[After(need, policy)]))  # type: ignore[arg-type]
    store.stop(need)
    a.commit()
    promote(store)

    expected = {"wait": "dependencies", "fail": None, "run": None}[policy]
    assert stage.waiting(late.id) == expected
    assert stage.states(late.id) == ("failed" if policy == "fail" else "pending",)
    assert stage.is_ready(late.id) == (policy == "run")
