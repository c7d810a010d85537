"""roll_up: every end is counted, once."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import psycopg
import pytest

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import Intent, State
from tenure.domain.tenant import Tenant
from tenure.errors import InputRefused
from tenure.store.calls import control_calls, upkeep, worker_calls
from tenure.store.drivers import send_on
from tenure.store.migrating import Migrator
from tenure.store.rollups import EndCounts
from tenure.store.store import Store
from tenure.testing import Clock
from tests.conftest import Connect
from tests.factories import ending, make_job, make_job_in, make_jobs, make_worker, promote
from tests.store.rolling import HOUR, MINUTE, SECOND, counts, end_one, ended_jobs, roll_up


def test_of_nothing_there_is_nothing(store: Store) -> None:
    for _ in range(2):
        history = store.history()
        assert (history.total, history.queues) == (EndCounts(), ())
        assert len(history.buckets) == 96
        assert {counts(bucket) for bucket in history.buckets} == {(0, 0, 0)}
        assert roll_up(store) == 0


def test_an_end_is_told_at_once_and_the_same_when_it_was_rolled_up(
    store: Store, clock: Clock, sql: psycopg.Connection
) -> None:
    end_one(store, queue="mail")
    before = store.history()
    assert counts(before.total) == (1, 0, 0)
    assert [(queue.queue, queue.completed) for queue in before.queues] == [("mail", 1)]
    assert before.buckets[-1].completed + before.buckets[-2].completed == 1
    clock.advance(20 * SECOND)
    assert roll_up(store) == 1
    sql.execute("DELETE FROM tenure.job")
    after = store.history()
    assert (after.total, after.queues) == (before.total, before.queues)
    assert after.counted_until is not None


def test_to_count_nothing_is_refused(store: Store) -> None:
    with pytest.raises(InputRefused, match="0 jobs cannot be counted"):
        store.roll_up(0)


def test_a_job_counts_where_it_ended_and_its_last_attempt_tells_the_times(
    store: Store, clock: Clock
) -> None:
    worker = make_worker(store, HOUR)
    make_job(store)
    first = worker.claim_one()
    clock.advance(100 * SECOND)
    worker.finish(first, "retry", error={"type": "ValueError", "message": "no"})
    clock.advance(10 * SECOND)
    promote(store)
    second = worker.claim_one()
    clock.advance(5 * SECOND)
    worker.finish(second)
    total = store.history().total
    assert counts(total) == (1, 0, 0)
    assert total.wait_p50 == pytest.approx(10, rel=0.1)
    assert total.run_p50 == pytest.approx(5, rel=0.1)


def test_what_never_ran_has_no_times(store: Store) -> None:
    ids = make_jobs(
        store,
        [
            NewJob(task=None, key="whole"),
            NewJob(task="work", key="part", parent="whole", max_attempts=1),
        ],
    )
    store.stop(ids["part"])
    store.stop(make_job(store))
    store.stop(make_job(store), intent=Intent.PAUSE)
    promote(store)
    assert store.history().total == EndCounts(cancelled=3)


def test_a_job_that_failed_while_it_waited_for_its_retry_has_no_times(
    store: Store, sql: psycopg.Connection
) -> None:
    make_job_in(store, State.FAILED, max_attempts=1)
    sql.execute("UPDATE tenure.job SET run_at = started_at + interval '1 ms'")
    assert store.history().total == EndCounts(failed=1)


def test_a_job_without_code_of_its_own_counts(store: Store) -> None:
    make_jobs(
        store, [NewJob(task=None, key="whole"), NewJob(task="work", key="part", parent="whole")]
    )
    worker = make_worker(store)
    worker.finish(worker.claim_one())
    promote(store)
    assert counts(store.history().total) == (2, 0, 0)


def test_a_failed_job_that_was_cleared_counts_for_each_of_its_ends(
    store: Store, clock: Clock
) -> None:
    job = make_job_in(store, State.FAILED, max_attempts=1)
    clock.advance(MINUTE)
    roll_up(store)
    store.clear(job)
    assert counts(store.history().total) == (0, 1, 1)
    clock.advance(MINUTE)
    assert roll_up(store) == 1
    assert counts(store.history().total) == (0, 1, 1)


def test_a_job_that_commits_late_is_not_lost(
    store: Store, clock: Clock, connect: Connect, sql: psycopg.Connection
) -> None:
    worker = make_worker(store, HOUR)
    make_job(store)
    job = worker.claim_one()
    late = connect()
    send_on(late, worker_calls.finish(worker.id, [ending(job)]))
    end_one(store)
    clock.advance(7 * MINUTE)
    end_one(store)
    clock.advance(7 * MINUTE)
    for _ in range(3):
        assert roll_up(store) == 0, "an older transaction is open, and may have ended jobs"
        clock.advance(MINUTE)
    late.commit()
    assert roll_up(store) == 3
    assert counts(store.history().total) == (3, 0, 0)
    assert roll_up(store) == 0


def test_a_mark_is_kept_until_it_is_settled(store: Store, clock: Clock, connect: Connect) -> None:
    """There is always some transaction on a busy server, but not the same for ever."""
    first, second = connect(), connect()
    first.execute("SELECT pg_current_xact_id()")
    end_one(store)
    clock.advance(MINUTE)
    assert roll_up(store) == 0
    second.execute("SELECT pg_current_xact_id()")
    assert roll_up(store) == 0
    first.commit()
    assert roll_up(store) == 1, "the second began after the mark"


def test_who_begins_later_than_the_mark_and_ends_a_job_is_counted_later(
    store: Store, clock: Clock, connect: Connect
) -> None:
    first, second = connect(), connect()
    first.execute("SELECT pg_current_xact_id()")
    assert roll_up(store) == 0
    clock.advance(MINUTE)
    job = make_job(store)
    send_on(second, control_calls.stop(job))
    first.commit()
    clock.advance(MINUTE)
    for _ in range(3):
        assert roll_up(store) == 0
    second.commit()
    assert roll_up(store) == 1


def test_a_mark_of_another_server_holds_up_nothing(
    store: Store, clock: Clock, sql: psycopg.Connection, connect: Connect
) -> None:
    """A dump contains the row, and the numbers of transactions start again."""
    roll_up(store)
    end_one(store)
    clock.advance(MINUTE)
    sql.execute("UPDATE tenure.rolled_up SET marked_at = tenure.now(), marked_by = '999999999999'")
    connect().execute("SELECT pg_current_xact_id()")
    assert roll_up(store) == 1


def test_a_caller_in_a_transaction_of_its_own_marks_no_later_than_it_began(
    store: Store, clock: Clock, connect: Connect
) -> None:
    outer = connect()
    outer.execute("SELECT pg_current_xact_id()")
    make_job(store)
    worker = make_worker(store, HOUR)
    inner = connect()
    send_on(inner, worker_calls.finish(worker.id, [ending(worker.claim_one())]))
    send_on(outer, upkeep.roll_up())
    outer.commit()
    inner.commit()
    clock.advance(MINUTE)
    assert roll_up(store) == 1


def test_two_who_count_at_once_count_each_end_once(
    store: Store, sql: psycopg.Connection, database: str
) -> None:
    ended_jobs(sql, 2000)

    def count_all(_: int) -> int:
        with Store(database) as other:
            jobs = 0
            for _ in range(60):
                jobs += other.roll_up(50).jobs
            return jobs

    with ThreadPoolExecutor(4) as pool:
        counted = list(pool.map(count_all, range(4)))
    assert sum(counted) + roll_up(store) == 2000
    assert sum(counts(store.history().total)) == 2000


def test_while_one_counts_the_other_leaves_it_alone(
    store: Store, sql: psycopg.Connection, connect: Connect
) -> None:
    ended_jobs(sql, 10)
    sql.execute(
        "INSERT INTO tenure.rolled_up (until, settled)"
        " SELECT t, t FROM (SELECT tenure.now() - interval '24 h' AS t) AS t"
    )
    one = connect()
    assert send_on(one, upkeep.roll_up()).jobs == 10
    other = store.roll_up()
    assert (other.jobs, other.more) == (0, False)
    one.rollback()
    assert roll_up(store) == 10


def test_a_fleet_looks_once(store: Store, clock: Clock) -> None:
    roll_up(store)
    end_one(store)
    clock.advance(40 * SECOND)
    assert store.roll_up(every=MINUTE).jobs == 0
    clock.advance(40 * SECOND)
    assert store.roll_up(every=MINUTE).jobs == 1


def test_a_call_counts_only_so_many_and_says_that_there_is_more(
    store: Store, sql: psycopg.Connection
) -> None:
    ended_jobs(sql, 100, ago=(HOUR, 3 * HOUR))
    counted = []
    while (rolled := store.roll_up(10)).more:
        counted.append(rolled.jobs)
    assert len(counted) > 3
    assert min(counted) >= 10
    assert sum(counted) + rolled.jobs == 100


def test_what_is_older_than_a_day_is_forgotten(
    store: Store, clock: Clock, sql: psycopg.Connection
) -> None:
    ended_jobs(sql, 100)
    assert roll_up(store) == 100
    clock.advance(12 * HOUR)
    ended_jobs(sql, 7, ago=(-11 * HOUR, -10 * HOUR), seed=2)
    roll_up(store)
    assert 7 < sum(counts(store.history().total)) < 107
    clock.advance(26 * HOUR)
    roll_up(store)
    assert sql.execute("SELECT count(*) FROM tenure.rollup").fetchone() == (0,)


def test_ends_of_a_time_when_nobody_counted_are_counted_later(
    store: Store, clock: Clock, sql: psycopg.Connection
) -> None:
    roll_up(store)
    end_one(store)
    clock.advance(20 * HOUR)
    end_one(store)
    history = store.history()
    assert counts(history.total) == (1, 0, 0), "the last minutes alone are read from the jobs"
    assert history.counted_until is not None
    assert history.until - history.counted_until > 19 * HOUR
    clock.advance(MINUTE)
    assert roll_up(store) == 2
    clock.advance(30 * HOUR)
    assert roll_up(store) == 0
    assert store.history().total == EndCounts()


def test_nothing_is_pruned_before_it_was_counted(store: Store, clock: Clock) -> None:
    roll_up(store)
    end_one(store)
    keep = {State.COMPLETED: timedelta(0)}
    assert store.prune(keep).jobs == 0
    clock.advance(20 * SECOND)
    roll_up(store)
    assert store.prune(keep).jobs == 1
    assert counts(store.history().total) == (1, 0, 0)
    end_one(store)
    clock.advance(26 * HOUR)
    assert store.prune(keep).jobs == 1, "nobody counts, and what is too old is not kept for it"


def test_each_tenant_has_its_own(store: Store, database: str) -> None:
    Migrator(database).migrate(Tenant("acme"))
    end_one(store)
    with Store(database, Tenant("acme")) as acme:
        assert acme.history().total == EndCounts()
        end_one(acme, queue="secret")
        assert [queue.queue for queue in acme.history().queues] == ["secret"]
    assert [queue.queue for queue in store.history().queues] == ["default"]
