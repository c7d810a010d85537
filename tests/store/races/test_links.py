"""Wake-ups of dependents, parents and records: no interleaving loses one."""

from datetime import timedelta

import pytest

from tenure.domain.job import After, NewJob
from tenure.domain.lifecycle import Rung, State
from tenure.store.calls import enqueue_calls, worker_calls
from tenure.store.store import Store
from tests.factories import end_as_stopped, ending, make_job, make_jobs, make_worker, promote
from tests.store.races.stage import Stage


def test_an_edge_committed_before_the_dependency_ends_is_woken(store: Store, stage: Stage) -> None:
    make_job(store)
    worker = make_worker(store)
    need = worker.claim_one()
    a = stage.session()
    (late,) = a.enqueue(NewJob(task="work", after=[need.id]))
    a.commit()
    promote(store)
    assert stage.waiting(late.id) == "dependencies"

    worker.finish(need)
    promote(store)

    assert stage.is_ready(late.id)


def test_an_edge_in_flight_when_the_dependency_ends_is_met(store: Store, stage: Stage) -> None:
    make_job(store)
    worker = make_worker(store)
    need = worker.claim_one()
    a = stage.session()

    (late,) = a.enqueue(NewJob(task="work", after=[need.id]))
    worker.finish(need)
    promote(store)
    a.commit()
    promote(store)

    assert stage.is_ready(late.id)


@pytest.mark.parametrize("promoted", ["while the ending is in flight", "after it"])
def test_an_edge_committed_while_the_dependency_ends_is_met(
    store: Store, stage: Stage, promoted: str
) -> None:
    make_job(store)
    worker = make_worker(store)
    need = worker.claim_one()
    a = stage.session()

    a(worker_calls.finish(worker.id, [ending(need)]))
    late = make_job(store, after=[need.id])
    if promoted == "while the ending is in flight":
        promote(store)
        assert not stage.is_ready(late)
    a.commit()
    promote(store)

    assert stage.is_ready(late)


def test_an_edge_committed_between_the_ending_and_its_look_for_edges_is_met(
    store: Store, stage: Stage
) -> None:
    make_job(store)
    worker = make_worker(store)
    need = worker.claim_one()
    finishing = stage.session()
    stage.stop_before("release_holds", finishing)

    finish = stage.waits(finishing, worker_calls.finish(worker.id, [ending(need)]))
    late = make_job(store, after=[need.id])
    promote(store)
    stage.go_on()
    finish.result()
    finishing.commit()
    promote(store)

    assert stage.is_ready(late)


def test_a_dependency_cannot_end_between_the_look_of_promote_and_its_commit(
    store: Store, stage: Stage
) -> None:
    make_job(store)
    worker = make_worker(store)
    need = worker.claim_one()
    late = make_job(store, after=[need.id])
    promoting = stage.session()
    stage.stop_before("settle_dependencies", promoting)

    promotion = stage.waits(promoting, enqueue_calls.promote())
    assert worker.finish(need).busy == (need.id,)
    stage.go_on()
    promotion.result()
    assert worker.finish(need).busy == (need.id,)
    promoting.commit()
    assert worker.finish(need).accepted == {need.id: State.COMPLETED}
    promote(store)

    assert stage.is_ready(late)


@pytest.mark.parametrize("policy", ["wait", "fail", "run"])
def test_two_dependencies_that_end_at_once_wake_the_one_after_them(
    store: Store, stage: Stage, policy: str
) -> None:
    needs = [make_job(store), make_job(store)]
    late = make_job(store, after=[After(need, policy) for need in needs])  # type: ignore[arg-type]
    promote(store)
    worker = make_worker(store)
    one, two = worker.claim(2)
    a, b = stage.session(), stage.session()

    a(worker_calls.finish(worker.id, [ending(one)]))
    b(worker_calls.finish(worker.id, [ending(two)]))
    a.commit()
    promote(store)
    assert not stage.is_ready(late)
    b.commit()
    promote(store)

    assert stage.is_ready(late)


def test_a_dependency_pruned_while_the_edge_is_in_flight_does_not_strand_the_job(
    store: Store, stage: Stage
) -> None:
    need = make_job(store)
    worker = make_worker(store)
    worker.finish(worker.claim_one())
    a = stage.session()

    (late,) = a.enqueue(NewJob(task="work", after=[need]))
    assert store.prune({State.COMPLETED: timedelta(0)}).jobs == 1
    a.commit()
    promote(store)

    assert stage.is_ready(late.id), f"it waits for {stage.waiting(late.id)} for ever"
    assert stage.one("SELECT count(*) FROM tenure.wake") == 0


def test_a_parent_pruned_while_its_child_is_in_flight_does_not_strand_the_child(
    store: Store, stage: Stage
) -> None:
    parent = make_job(store)
    worker = make_worker(store)
    held = worker.claim_one()
    a = stage.session()

    (child,) = a.enqueue(NewJob(task="work", parent=parent))
    worker.finish(held)
    assert store.prune({State.COMPLETED: timedelta(0)}).jobs == 1
    a.commit()
    promote(store)

    assert stage.waiting(child.id) != "promotion", "nobody will ever look at it"
    assert stage.one("SELECT count(*) FROM tenure.wake") == 0


@pytest.mark.parametrize("between", ["promote between them", "promote after both"])
@pytest.mark.parametrize("kind", ["tasks", "children"])
def test_the_last_two_children_that_end_at_once_wake_their_parent(
    store: Store, stage: Stage, kind: str, between: str
) -> None:
    worker = make_worker(store)
    if kind == "tasks":
        ids = make_jobs(
            store,
            [NewJob(key="root"), *(NewJob(task="work", parent="root") for _ in range(2))],
        )
        parent = ids["root"]
    else:
        parent = make_job(store)
        held = worker.claim_one()
        for _ in range(2):
            make_job(store, parent=parent)
        worker.finish(held, "released", until="children")
        promote(store)
    one, two = worker.claim(2)
    a, b = stage.session(), stage.session()

    a(worker_calls.finish(worker.id, [ending(one)]))
    b(worker_calls.finish(worker.id, [ending(two)]))
    a.commit()
    if between == "promote between them":
        promote(store)
        assert stage.waiting(parent) == kind
    b.commit()
    promote(store)

    assert stage.states(parent) == ("completed" if kind == "tasks" else "pending",)
    assert stage.is_ready(parent) == (kind == "children")


def test_a_parent_is_not_lost_when_a_child_ends_while_promote_settles_it(
    store: Store, stage: Stage
) -> None:
    ids = make_jobs(
        store, [NewJob(key="root"), *(NewJob(task="work", parent="root") for _ in range(2))]
    )
    worker = make_worker(store)
    one, two = worker.claim(2)
    worker.finish(one)
    promoting = stage.session()

    promoting(enqueue_calls.promote())  # has seen the second child running
    assert worker.finish(two).accepted == {two.id: State.COMPLETED}
    promoting.commit()
    promote(store)

    assert stage.states(ids["root"]) == ("completed",)


@pytest.mark.parametrize("between", ["promote between them", "promote after both"])
def test_a_record_closes_when_its_last_two_members_end_at_once(
    store: Store, stage: Stage, between: str
) -> None:
    ids = make_jobs(
        store, [NewJob(key="root"), *(NewJob(task="work", parent="root") for _ in range(2))]
    )
    worker = make_worker(store)
    one, two = worker.claim(2)
    store.stop(ids["root"])
    a, b = stage.session(), stage.session()

    a(worker_calls.finish(worker.id, [ending(one, "stopped", rung=Rung.ASKED, heard=True)]))
    b(worker_calls.finish(worker.id, [ending(two, "stopped", rung=Rung.ASKED, heard=True)]))
    a.commit()
    if between == "promote between them":
        promote(store)
        assert stage.open_records() == 1
    b.commit()
    promote(store)

    assert set(stage.states(ids["root"], one.id, two.id)) == {"cancelled"}
    assert store.cancellation(job=ids["root"]).status == "completed"
    assert stage.open_records() == 0


def test_a_record_that_somebody_has_locked_is_closed_by_the_next_promote(
    store: Store, stage: Stage
) -> None:
    make_job(store)
    worker = make_worker(store)
    job = worker.claim_one()
    store.stop(job.id)
    end_as_stopped(worker, job)
    a = stage.session()

    a.connection.execute("SELECT FROM tenure.cancellation FOR UPDATE")
    store.promote()
    assert stage.open_records() == 1
    a.rollback()
    promote(store)

    assert stage.open_records() == 0


def test_a_promote_that_is_rolled_back_leaves_every_wake_to_the_next(
    store: Store, stage: Stage
) -> None:
    need = make_job(store)
    late = make_job(store, after=[need])
    lined = make_job(store, target="t")
    worker = make_worker(store)
    worker.finish(worker.claim_one())
    a = stage.session()

    a(enqueue_calls.promote())
    assert store.promote().linked == 0
    a.rollback()
    promote(store)

    assert stage.is_ready(late)
    assert stage.is_ready(lined)


@pytest.mark.parametrize("others", [0, 1])
def test_an_end_at_repeatable_read_that_saw_no_edge_is_found_by_the_sweep(
    store: Store, stage: Stage, others: int
) -> None:
    worker = make_worker(store)
    store.enqueue([NewJob(task="work")] * (1 + others))
    need, *rest = worker.claim(1 + others)
    a = stage.session()
    a.connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    a.connection.execute("SELECT FROM tenure.job")
    late = make_job(store, after=[need.id, *(job.id for job in rest)])
    promote(store)

    a(worker_calls.finish(worker.id, [ending(need)]))
    a.commit()
    store.finish(worker.id, [ending(job) for job in rest])
    promote(store)
    assert stage.waiting(late) == "dependencies", "nobody was told"
    store.prune({})
    promote(store)

    assert stage.is_ready(late)


def test_wakes_of_a_job_that_is_locked_become_one_and_delay_nobody(
    store: Store, stage: Stage
) -> None:
    worker = make_worker(store)
    store.enqueue([NewJob(task="work")] * 12)
    *needs, other = worker.claim(12)
    locked = make_job(store, after=[need.id for need in needs])
    free = make_job(store, after=[other.id])
    promote(store)
    a = stage.session()
    a.connection.execute("SELECT FROM tenure.job WHERE id = %s FOR UPDATE", (locked,))
    for need in needs:
        worker.finish(need)
    worker.finish(other)

    store.promote(10)
    store.promote(10)

    assert stage.is_ready(free)
    assert stage.one("SELECT count(*) FROM tenure.wake WHERE job_id = %s", locked) <= 2
    a.commit()
    promote(store)
    assert stage.is_ready(locked)
