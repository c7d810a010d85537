"""Wake-ups of targets: freed, waited for and blocked, in every order."""

import pytest

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import Intent, State
from tenure.store.calls import control_calls, enqueue_calls, upkeep, worker_calls
from tenure.store.store import Store
from tests.factories import ending, make_job, make_worker, promote
from tests.store.races.stage import Stage


def at(target: str, **more: object) -> NewJob:
    return NewJob(task="work", target=target, **more)  # type: ignore[arg-type]


def test_a_promote_that_saw_the_target_busy_does_not_lose_the_one_behind_it(
    store: Store, stage: Stage
) -> None:
    make_job(store, target="t")
    promote(store)
    worker = make_worker(store)
    first = worker.claim_one()
    second = make_job(store, target="t")
    a = stage.session()

    a(enqueue_calls.promote())  # has read the target as busy
    assert worker.finish(first).accepted
    a.commit()
    promote(store)

    assert worker.claim_one().id == second


def test_a_promote_while_the_target_is_being_freed_does_not_lose_the_one_behind_it(
    store: Store, stage: Stage
) -> None:
    make_job(store, target="t")
    promote(store)
    worker = make_worker(store)
    first = worker.claim_one()
    second = make_job(store, target="t")
    a = stage.session()

    a(worker_calls.finish(worker.id, [ending(first)]))
    promote(store)  # takes the wake of the second and finds the target busy
    assert not stage.is_ready(second)
    a.commit()
    promote(store)

    assert worker.claim_one().id == second


def test_a_job_that_joins_the_line_while_the_target_is_freed_is_not_lost(
    store: Store, stage: Stage
) -> None:
    make_job(store, target="t")
    promote(store)
    worker = make_worker(store)
    first = worker.claim_one()
    a = stage.session()

    (second,) = a.enqueue(at("t"))
    worker.finish(first)
    promote(store)  # the target is free, and nobody is seen in its line
    a.commit()
    promote(store)

    assert worker.claim_one().id == second.id


@pytest.mark.parametrize("commit", ["in order", "the other way round"])
def test_two_promotes_of_one_target_let_one_job_through(
    store: Store, stage: Stage, commit: str
) -> None:
    jobs = [make_job(store, target="t") for _ in range(2)]
    a, b = stage.session(), stage.session()

    a(enqueue_calls.promote(1))
    b(enqueue_calls.promote(1))
    for session in (a, b) if commit == "in order" else (b, a):
        session.commit()
    promote(store)

    assert [stage.is_ready(job) for job in jobs] == [True, False]
    assert stage.waiting(jobs[1]) == "target"


def test_nobody_overtakes_a_head_of_the_line_that_is_only_locked(
    store: Store, stage: Stage
) -> None:
    first, second = (make_job(store, target="t") for _ in range(2))
    a = stage.session()

    a.connection.execute("SELECT FROM tenure.job WHERE id = %s FOR UPDATE", (first,))
    store.promote()
    a.rollback()
    promote(store)

    assert stage.is_ready(first)
    assert not stage.is_ready(second)


@pytest.mark.parametrize("intent", [Intent.CANCEL, Intent.PAUSE])
def test_a_head_that_is_stopped_while_promote_looks_at_it_neither_runs_nor_loses_the_line(
    store: Store, stage: Stage, intent: Intent
) -> None:
    first = make_job(store, target="t", block_on=("failed",))
    second = make_job(store, target="t")
    a = stage.session()

    a(control_calls.stop(first, intent=intent))
    store.promote()
    a.commit()
    promote(store)

    assert not stage.is_ready(first)
    assert stage.is_ready(second)


def test_a_target_paused_beside_a_promote_starts_nothing(store: Store, stage: Stage) -> None:
    job = make_job(store, target="t")
    a, b = stage.session(), stage.session()

    a(enqueue_calls.promote())
    pause = stage.sent(b, control_calls.pause_dispatch("target", "t"))
    stage.is_waiting(b, pause)
    a.commit()
    pause.result()
    b.commit()
    promote(store)

    assert make_worker(store).claim() == ()
    store.resume_dispatch("target", "t")
    promote(store)
    assert stage.is_ready(job)


def test_a_promote_beside_a_pause_of_the_target_starts_nothing(store: Store, stage: Stage) -> None:
    job = make_job(store, target="t")
    a = stage.session()

    a(control_calls.pause_dispatch("target", "t"))
    store.promote()
    a.commit()
    promote(store)
    assert make_worker(store).claim() == ()

    b = stage.session()
    b(control_calls.resume_dispatch("target", "t"))
    make_job(store, target="t")
    promote(store)  # still sees the pause, and takes the wake
    b.commit()
    promote(store)
    assert stage.is_ready(job)


@pytest.mark.parametrize("order", ["claim first", "pause first"])
def test_a_claim_against_a_pause_of_its_target_runs_it_or_leaves_it(
    store: Store, stage: Stage, order: str
) -> None:
    job = make_job(store, target="t")
    promote(store)
    worker = make_worker(store)
    a, b = stage.session(), stage.session()

    if order == "claim first":
        assert a(worker_calls.claim(worker.id, 1)).jobs
        pause = stage.waits(b, control_calls.pause_dispatch("target", "t"))
        a.commit()
        pause.result()
        b.commit()
        assert stage.states(job) == ("running",)
    else:
        b(control_calls.pause_dispatch("target", "t"))
        assert a(worker_calls.claim(worker.id, 1)).jobs == ()
        a.commit()
        b.commit()
        assert worker.claim() == ()
        assert stage.waiting(job) == "target"


@pytest.mark.parametrize("fate", ["completes", "is recovered", "is cleared"])
def test_a_serial_target_has_one_running_job_whatever_its_zombie_says(
    store: Store, stage: Stage, fate: str
) -> None:
    first = make_job(store, target="t", orphan="fail" if fate == "is cleared" else "retry")
    second = make_job(store, target="t")
    promote(store)
    zombie = make_worker(store)
    held = zombie.claim_one()
    stage.expire(zombie.id)
    store.recover()
    worker = make_worker(store)
    if fate == "is cleared":
        store.clear(first)
    promote(store)
    running = worker.claim(5)
    if fate == "completes":
        worker.finish(running[0])
        promote(store)
        running = worker.claim(5)

    for outcome in ("completed", "failed", "retry", "released"):
        assert zombie.finish(held, outcome).refused == (held.id,)
    promote(store)

    assert worker.claim(5) == ()
    assert [job.id for job in running] == [first if fate == "is recovered" else second]
    assert stage.one("SELECT count(*) FROM tenure.job WHERE state = 'running'") == 1


def test_a_zombie_cannot_give_back_a_slot_that_another_holds(store: Store, stage: Stage) -> None:
    store.create_pool("p", ["only"])
    make_job(store, pools=["p"])
    zombie = make_worker(store)
    held = zombie.claim_one()
    stage.expire(zombie.id)
    store.recover()
    worker = make_worker(store)
    again = worker.claim_one()
    make_job(store, pools=["p"])

    for _ in range(3):
        assert zombie.finish(held).refused == (held.id,)
        assert zombie.release(held).refused == (held.id,)

    assert worker.claim() == ()
    assert store.show(again.id).slots == ("p/only",)


def test_a_slot_freed_while_a_claim_looks_is_taken_by_the_next_claim(
    store: Store, stage: Stage
) -> None:
    store.create_pool("p", ["only"])
    jobs = [make_job(store, pools=["p"]) for _ in range(2)]
    worker, other = make_worker(store), make_worker(store)
    first = worker.claim_one()
    a = stage.session()

    a(worker_calls.finish(worker.id, [ending(first)]))
    assert other.claim() == ()
    a.commit()

    assert other.claim_one().id == jobs[1]


def test_a_job_of_a_blocked_target_does_not_starve_other_targets(
    store: Store, stage: Stage
) -> None:
    make_job(store, target="blocked", priority=5)
    promote(store)
    worker = make_worker(store)
    worker.claim_one()
    store.enqueue([at("blocked", priority=9) for _ in range(600)])
    others = {make_job(store, target=f"t{number}") for number in range(5)}
    promote(store)

    assert {job.id for job in worker.claim(50)} == others


def test_a_recovered_holder_keeps_its_place_against_a_promote(store: Store, stage: Stage) -> None:
    first, second = (make_job(store, target="t") for _ in range(2))
    promote(store)
    worker = make_worker(store)
    worker.claim_one()
    stage.expire(worker.id)
    a = stage.session()

    a(upkeep.recover())
    promote(store)
    a.commit()
    promote(store)

    again = make_worker(store).claim(2)
    assert [job.id for job in again] == [first]
    assert stage.waiting(second) == "target"
    assert stage.states(first, second) == (State.RUNNING, State.PENDING)
