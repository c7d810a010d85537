"""What moves among the cancellation records."""

from datetime import timedelta

import psycopg

from tenure.domain.job import NewJob
from tenure.store.results import Movements
from tenure.store.store import Store
from tests.conftest import Connect
from tests.factories import end_as_stopped, make_job, make_jobs, make_worker, promote


def ended(told: Movements) -> list[str]:
    return [end.cancellation_id for end in told.ended]


def test_the_first_look_begins_at_the_end(store: Store) -> None:
    before = store.stop(make_job(store)).cancellation_id
    running = make_job(store)
    worker = make_worker(store)
    claimed = worker.claim_one()
    record = store.stop(running)
    told = store.movements()
    assert [one.cancellation_id for one in told.open] == [record.cancellation_id]
    assert ended(told) == [before], "it will be told again"
    assert store.movements(told.last) == told, "nothing has moved"
    end_as_stopped(worker, claimed)
    promote(store)
    after = store.movements(told.last)
    assert (after.open, after.last > told.last) == ((), True)
    assert ended(after) == [before, record.cancellation_id]


def test_a_mark_changes_with_each_member_that_ends(store: Store) -> None:
    jobs = [NewJob(task="work", parent="root", key=str(n)) for n in range(2)]
    ids = make_jobs(store, [NewJob(key="root"), *jobs])
    worker = make_worker(store)
    first, second = worker.claim(2)
    store.stop(ids["root"])
    marks = [store.movements().open[0].mark]
    end_as_stopped(worker, first)
    marks.append(store.movements().open[0].mark)
    store.step(store.cancellations()[0].cancellation_id, "terminate_runners", "in_progress")
    store.stop(ids["root"], force=True)
    marks.append(store.movements().open[0].mark)
    assert len(set(marks)) == 3
    end_as_stopped(worker, second)


def test_ends_are_told_a_page_at_a_time(store: Store, sql: psycopg.Connection) -> None:
    name = store.stop(make_job(store)).cancellation_id
    start = store.movements().last
    sql.execute(
        "INSERT INTO tenure.event (at, kind, detail) SELECT tenure.now(), 'cancellation',"
        " jsonb_build_object('cancellation_id', %s::text) FROM generate_series(1, 1500)",
        (name,),
    )
    first = store.movements(start)
    second = store.movements(first.last)
    assert first.last == start + 1000
    assert second.last == start + 1500
    seen = {end.id for told in (first, second) for end in told.ended}
    assert seen >= set(range(start + 1, start + 1501))


def test_an_end_that_was_committed_late_is_not_lost(store: Store, connect: Connect) -> None:
    slow, quick = make_job(store), make_job(store)
    before = store.movements().last
    with connect() as other:
        [row] = other.execute("SELECT tenure.stop(%s)", (slow,)).fetchall()
        store.stop(quick)
        meanwhile = store.movements(before)
        assert len(meanwhile.ended) == 1, "the other is not committed, and has the lower number"
        other.commit()
    after = store.movements(meanwhile.last)
    assert row[0]["cancellation_id"] in ended(after)


def test_old_ends_are_not_told_again(store: Store, sql: psycopg.Connection) -> None:
    store.stop(make_job(store))
    last = store.movements().last
    assert len(store.movements(last).ended) == 1, "of the last half minute"
    sql.execute("UPDATE tenure.event SET at = at - %s", (timedelta(minutes=1),))
    assert store.movements(last).ended == ()
