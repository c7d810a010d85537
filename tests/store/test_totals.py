"""totals: what metrics are made of."""

from datetime import timedelta

import psycopg
import pytest

from tenure.domain.job import NEVER
from tenure.domain.lifecycle import Intent, Rung
from tenure.domain.tenant import Tenant
from tenure.store.migrating import Migrator
from tenure.store.store import Store
from tenure.store.totals import Tally, Totals
from tenure.testing import Clock
from tests.conftest import Connect
from tests.factories import make_job, make_worker, promote

ERROR = {"type": "ValueError", "message": "no"}
SECOND = timedelta(seconds=1)


def by_status(totals: Totals, queue: str = "default") -> dict[str, int]:
    return {alive.status: alive.n for alive in totals.jobs if alive.queue == queue}


def oldest(totals: Totals, status: str, queue: str = "default") -> float:
    [found] = [one for one in totals.jobs if (one.queue, one.status) == (queue, status)]
    return found.oldest_seconds


def tallied(totals: Totals, kind: str) -> dict[tuple[str, ...], int]:
    counts: dict[tuple[str, ...], int] = {}
    for tally in totals.tally:
        if tally.kind == kind:
            counts[tally.labels] = counts.get(tally.labels, 0) + tally.n
    return counts


def as_rows(totals: Totals) -> list[Tally]:
    return sorted(totals.tally, key=lambda tally: (tally.kind, tally.labels, tally.bucket))


def test_of_nothing_there_is_nothing(store: Store) -> None:
    totals = store.totals()
    assert (totals.jobs, totals.zombies, totals.overdue) == ((), 0, 0)
    assert (totals.paused, totals.workers, totals.tally) == ((), {}, ())
    assert list(totals.bounds) == sorted(totals.bounds)


def test_what_is_alive_counts_once_under_the_word_people_see(store: Store) -> None:
    worker = make_worker(store)
    for outcome in ("completed", "failed", "retry"):
        make_job(store)
        job = worker.claim_one()
        worker.finish(job, outcome, error=None if outcome == "completed" else ERROR, run_at=None)
    store.stop(worker.claim_one().id)
    make_job(store)
    worker.claim_one()
    make_job(store, delay=timedelta(hours=1))
    make_job(store, run_at=NEVER)
    first = make_job(store, target="site:x")
    make_job(store, target="site:x")
    make_job(store, after=[first])
    promote(store)
    store.stop(make_job(store), intent=Intent.PAUSE)
    store.stop(make_job(store))
    ended = {"completed", "failed", "cancelled"}
    expected = store.statistics().by_status
    assert by_status(store.totals()) == {
        status: n for status, n in expected.items() if status not in ended
    }
    assert by_status(store.totals()) == {
        "cancelling": 1,
        "running": 1,
        "scheduled": 1,
        "pending": 1,
        "queued": 1,
        "blocked": 1,
        "waiting": 1,
        "paused": 1,
    }


def test_ages_are_those_of_the_first_in_turn_and_of_what_runs(store: Store, clock: Clock) -> None:
    worker = make_worker(store, 3600 * SECOND)
    make_job(store)
    worker.claim_one()
    clock.advance(10 * SECOND)
    make_job(store)
    make_job(store, priority=5)
    make_job(store, delay=3600 * SECOND)
    clock.advance(10 * SECOND)
    make_job(store)
    make_job(store, queue="other")
    totals = store.totals()
    assert oldest(totals, "running") == pytest.approx(20, abs=2)
    assert oldest(totals, "queued") == pytest.approx(10, abs=2)
    assert oldest(totals, "queued", "other") == pytest.approx(0, abs=2)
    assert oldest(totals, "scheduled") == 0


def test_each_status_of_a_queue_is_counted_over_all_its_lanes(store: Store) -> None:
    for task in ("a", "b", "b"):
        make_job(store, task=task, queue="mail")
    make_job(store, queue="other")
    assert by_status(store.totals(), "mail") == {"queued": 3}
    assert by_status(store.totals(), "other") == {"queued": 1}


def test_a_job_is_a_zombie_while_the_lease_of_its_worker_is_over(
    store: Store, clock: Clock
) -> None:
    worker = make_worker(store)
    make_worker(store, 3600 * SECOND)
    for _ in range(3):
        make_job(store)
    worker.claim(2)
    assert store.totals().zombies == 0
    clock.advance(16 * SECOND)
    late = store.totals()
    assert (late.zombies, late.workers) == (2, {"late": 1, "alive": 1})
    store.recover()
    totals = store.totals()
    assert totals.zombies == 0
    assert tallied(totals, "event") == {("recovered",): 2}
    assert totals.workers == {"alive": 1}


def test_a_queue_is_served_by_a_living_worker_that_does_not_leave(
    store: Store, clock: Clock
) -> None:
    make_job(store, queue="mail")

    def served() -> bool:
        [alive] = store.totals().jobs
        return alive.served

    assert not served()
    make_worker(store, queues=["crawl"])
    assert not served()
    everything = make_worker(store)
    assert served()
    store.drain(everything.id)
    assert not served()
    make_worker(store, queues=["crawl", "mail"])
    assert served()
    clock.advance(16 * SECOND)
    assert not served()


def test_paused_queues_are_named(store: Store) -> None:
    store.pause_dispatch("queue", "mail")
    store.pause_dispatch("target", "site:x")
    assert store.totals().paused == ("mail",)
    store.pause_dispatch("tenant", "")
    assert set(store.totals().paused) == {"", "mail"}


def stop_one(store: Store, clock: Clock, seconds: float, rung: Rung, **how: object) -> None:
    """A running job whose stop takes this long."""
    worker = make_worker(store, 3600 * SECOND)
    make_job(store)
    job = worker.claim_one()
    store.stop(job.id, **how)  # type: ignore[arg-type]
    clock.advance(seconds * SECOND)
    worker.finish(job, "stopped", rung=rung, heard=True)
    promote(store)


def test_stops_count_by_intent_origin_and_end_and_runners_by_rung(
    store: Store, clock: Clock
) -> None:
    stop_one(store, clock, 3, Rung.INTERRUPTED)
    stop_one(store, clock, 40, Rung.KILLED, by="policy:budget")
    stop_one(store, clock, 0, Rung.INTERRUPTED, intent=Intent.PAUSE, by="ada")
    store.stop(make_job(store))
    worker = make_worker(store, 3600 * SECOND)
    make_job(store)
    opened = store.stop(worker.claim_one().id)
    totals = store.totals()
    assert tallied(totals, "record") == {
        ("cancel", "user", "completed"): 2,
        ("cancel", "user", "open"): 1,
        ("cancel", "policy:budget", "completed"): 1,
        ("pause", "user", "completed"): 1,
    }
    assert tallied(totals, "runner") == {("interrupted",): 2, ("killed",): 1}
    store.close_record(opened.cancellation_id, "partial", error="it is stuck")
    assert tallied(store.totals(), "record")["cancel", "user", "partial"] == 1
    [killed] = [one for one in totals.tally if one.labels == ("killed",)]
    assert totals.bounds[killed.bucket - 1] < killed.seconds <= totals.bounds[killed.bucket]
    assert killed.seconds == pytest.approx(40, abs=2)


def test_what_takes_longer_than_every_bound_is_in_a_bucket_of_its_own(
    store: Store, clock: Clock
) -> None:
    stop_one(store, clock, 5000, Rung.ASKED)
    totals = store.totals()
    assert {tally.bucket for tally in totals.tally} == {len(totals.bounds)}


def test_a_bound_belongs_to_its_own_bucket(store: Store, sql: psycopg.Connection) -> None:
    store.stop(make_job(store))
    sql.execute("UPDATE tenure.cancellation SET completed_at = initiated_at + interval '1 s'")
    totals = store.totals()
    assert [totals.bounds[tally.bucket] for tally in totals.tally] == [1.0]


def test_a_stop_is_overdue_half_a_minute_after_its_grace(store: Store, clock: Clock) -> None:
    worker = make_worker(store, 3600 * SECOND)
    for how in ({"force": True}, {"grace": 60 * SECOND}, {}):
        make_job(store)
        store.stop(worker.claim_one().id, **how)
    seen = []
    for _ in range(4):
        seen.append(store.totals(grace=30 * SECOND).overdue)
        clock.advance(31 * SECOND)
    assert seen == [0, 1, 2, 3]


def test_sums_outlive_their_records_and_events(
    store: Store, clock: Clock, sql: psycopg.Connection
) -> None:
    stop_one(store, clock, 3, Rung.INTERRUPTED)
    stop_one(store, clock, 0, Rung.KILLED, by="policy:budget")
    sql.execute(
        "INSERT INTO tenure.event (at, kind, detail) SELECT tenure.now(), kind, '{}' "
        "FROM unnest(ARRAY['refused', 'refused', 'recovered', 'cancellation']) AS kind"
    )
    before = as_rows(store.totals())
    store.prune({}, keep_events=timedelta(days=30))
    assert sql.execute("SELECT count(*) FROM tenure.cancellation WHERE tallied").fetchone() == (2,)
    assert as_rows(store.totals()) == before
    clock.advance(timedelta(days=31))
    sql.execute("DELETE FROM tenure.job")
    store.prune({}, keep_events=timedelta(days=30))
    store.prune_records(keep_records=timedelta(days=30))
    assert sql.execute("SELECT count(*) FROM tenure.cancellation").fetchone() == (0,)
    assert sql.execute("SELECT count(*) FROM tenure.event").fetchone() == (0,)
    assert as_rows(store.totals()) == before
    stop_one(store, clock, 3, Rung.INTERRUPTED)
    store.prune({}, keep_events=timedelta(days=30))
    assert tallied(store.totals(), "runner") == {("interrupted",): 2, ("killed",): 1}


def test_records_are_added_up_before_they_are_deleted(
    store: Store, clock: Clock, sql: psycopg.Connection
) -> None:
    store.stop(make_job(store))
    sql.execute("DELETE FROM tenure.job")
    clock.advance(timedelta(days=2))
    assert store.prune_records(keep_records=timedelta(days=1)).records == 1
    assert tallied(store.totals(), "record") == {("cancel", "user", "completed"): 1}


def test_events_are_added_up_again_and_again(
    store: Store, clock: Clock, sql: psycopg.Connection
) -> None:
    for n in range(1, 4):
        sql.execute(
            "INSERT INTO tenure.event (at, kind, detail) VALUES (tenure.now(), 'refused', '{}')"
        )
        clock.advance(timedelta(days=31))
        assert store.prune({}, keep_events=timedelta(days=30)).events == 1
        assert tallied(store.totals(), "event") == {("refused",): n}


def test_a_record_is_added_up_once_by_however_many(store: Store, connect: Connect) -> None:
    for _ in range(4):
        store.stop(make_job(store))
    first, second = connect(), connect()
    assert first.execute("SELECT tenure.add_to_tally(2)").fetchone() == (2,)
    second.execute("SET lock_timeout = '5s'")
    first.commit()
    assert second.execute("SELECT tenure.add_to_tally(9)").fetchone() == (2,)
    second.commit()
    assert tallied(store.totals(), "record") == {("cancel", "user", "completed"): 4}


def test_a_tenant_is_counted_by_itself(store: Store, database: str) -> None:
    Migrator(database).migrate(Tenant("acme"))
    make_job(store)
    with Store(database, Tenant("acme")) as acme:
        assert acme.totals().jobs == ()
        acme.stop(make_job(acme))
    assert store.totals().tally == ()


def end_jobs(sql: psycopg.Connection, n: int) -> None:
    sql.execute(
        "INSERT INTO tenure.job (root_id, created_at, ended_at, lane, state, max_attempts) "
        "SELECT n, tenure.now(), tenure.now(), 1, 'completed', 1 FROM generate_series(1, %s) n",
        (n,),
    )


@pytest.mark.fresh_database  # what other tests left in its catalogue would be counted too
@pytest.mark.parametrize("planned_at", [100, 2000, 20000])
def test_ended_jobs_are_not_read(store: Store, sql: psycopg.Connection, planned_at: int) -> None:
    end_jobs(sql, planned_at)
    make_job(store, delay=3600 * SECOND)
    make_job(store)
    sql.execute("""SELECT tenure.enqueue('{"task": "nobody has announced it"}')""")
    for analyzed in ("never", "afterwards"):
        if analyzed == "afterwards":
            sql.execute("ANALYZE tenure.job")
        sql.execute("SELECT tenure.totals()")  # to have it planned
        end_jobs(sql, 20000)
        row = sql.execute(
            "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT tenure.totals()"
        ).fetchone()
        assert row is not None
        plan = row[0][0]["Plan"]
        assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] < 100, analyzed
