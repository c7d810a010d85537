"""Stops that overlap: of one job, of a tree and its branch, of trees that depend on each other."""

import pytest

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import Intent, State
from tenure.errors import StoreUnavailable
from tenure.store.calls import control_calls
from tenure.store.store import Store
from tests.factories import end_as_stopped, make_job, make_jobs, make_worker, promote
from tests.store.races.stage import Stage


def test_two_stops_of_one_job_at_once_are_one_record(store: Store, stage: Stage) -> None:
    make_job(store)
    worker = make_worker(store)
    job = worker.claim_one()
    a, b = stage.session(), stage.session()

    first = a(control_calls.stop(job.id))
    second = stage.waits(b, control_calls.stop(job.id, force=True))
    a.commit()

    assert second.result().cancellation_id == first.cancellation_id
    assert (second.result().again, second.result().force) == (True, True)
    b.commit()
    (signal,) = store.renew(worker.id).signals
    assert signal.orders["force"] is True


@pytest.mark.parametrize("first", ["the tree", "the branch"])
def test_overlapping_cascades_both_close_their_records(
    store: Store, stage: Stage, first: str
) -> None:
    ids = make_jobs(
        store,
        [
            NewJob(key="root"),
            NewJob(key="branch", parent="root"),
            NewJob(task="work", key="leaf", parent="branch"),
            NewJob(task="work", key="next", parent="root", after=["leaf"]),
        ],
    )
    worker = make_worker(store)
    leaf = worker.claim_one()
    a, b = stage.session(), stage.session()
    order = ["root", "branch"] if first == "the tree" else ["branch", "root"]

    a(control_calls.stop(ids[order[0]]))
    second = stage.waits(b, control_calls.stop(ids[order[1]]))
    a.commit()
    second.result()
    b.commit()
    assert end_as_stopped(worker, leaf).accepted == {leaf.id: State.CANCELLED}
    promote(store)

    assert set(stage.states(*ids.values())) == {"cancelled"}
    assert stage.open_records() == 0


def test_cascades_over_trees_that_depend_on_each_other_both_ways_do_not_deadlock(
    store: Store, stage: Stage
) -> None:
    left, right = make_job(store), make_job(store)
    one = make_job(store, parent=left)
    two = make_job(store, parent=right, after=[one])
    three = make_job(store, parent=right)
    four = make_job(store, parent=left, after=[three])
    a, b = stage.session(), stage.session()
    stage.stop_before("jobs_to_stop", a)

    first = stage.waits(a, control_calls.stop(left))  # holds the left tree and wants the right one
    with pytest.raises(StoreUnavailable, match="could not obtain lock"):
        b(control_calls.stop(three))  # holds the right tree, and does not wait for the left one
    b.rollback()
    stage.go_on()
    first.result()
    a.commit()
    second = store.stop(right)
    promote(store)

    assert set(stage.states(left, one, two, four)) == {"cancelled"}
    assert second.status == "completed"
    assert set(stage.states(right, three)) == {"cancelled"}


def test_pausing_a_parent_does_not_soften_the_cancel_of_its_child(
    store: Store, stage: Stage
) -> None:
    ids = make_jobs(store, [NewJob(key="root"), NewJob(task="work", key="child", parent="root")])
    worker = make_worker(store)
    child = worker.claim_one()

    store.stop(child.id, intent=Intent.CANCEL)
    store.stop(ids["root"], intent=Intent.PAUSE)

    assert end_as_stopped(worker, child).accepted == {child.id: State.CANCELLED}
