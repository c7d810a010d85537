"""exchange: finish, promote and claim in one call, as each would do it alone."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import psycopg
import pytest

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import State
from tenure.errors import InputRefused
from tenure.store.calls.worker_calls import Want
from tenure.store.outcomes import Ending
from tenure.store.results import Claim, Exchanged
from tenure.store.store import Store
from tests.conftest import Connect
from tests.factories import Worker, ending, make_job, make_jobs, make_worker


def exchange(
    worker: Worker, endings: Sequence[Ending] = (), *wants: Want | int, **more: Any
) -> Exchanged[Claim]:
    asked = [Want(n=want) if isinstance(want, int) else want for want in wants]
    return worker.store.exchange(worker.id, endings, asked, **more)


def is_idle(sql: psycopg.Connection, worker: Worker) -> bool:
    row = sql.execute("SELECT idle FROM tenure.worker WHERE id = %s", (worker.id,)).fetchone()
    assert row is not None
    return bool(row[0])


def test_what_ended_is_finished_and_what_fits_is_claimed(store: Store) -> None:
    first, second = make_job(store, args={"n": 1}), make_job(store, args={"n": 2})
    worker = make_worker(store)
    (claim,) = exchange(worker, [], 1).claims
    (job,) = claim.jobs
    assert (job.id, job.args, job.raw_args) == (first, {"n": 1}, b'{"n": 1}')

    answer = exchange(worker, [ending(job, value={"answer": 42})], 1)

    assert answer.alive
    assert answer.finished.accepted == {first: State.COMPLETED}
    assert [job.id for job in answer.claims[0].jobs] == [second]
    assert store.show(first).result == {"answer": 42}


def test_a_result_may_come_as_json_that_is_passed_on(store: Store) -> None:
    make_job(store)
    worker = make_worker(store)
    job = worker.claim_one()
    exchange(worker, [ending(job, value=msgspec.Raw(b'{"answer": [42, null]}'))])
    assert store.show(job.id).result == {"answer": [42, None]}


def test_each_want_gets_what_it_asked_for_in_its_place(store: Store) -> None:
    slow, quick = make_job(store, "slow", queue="far"), make_job(store, "quick")
    worker = make_worker(store)
    answer = exchange(
        worker,
        [],
        Want(n=5, tasks=["quick"]),
        Want(n=0),
        Want(n=5, queues=["far"], tasks=["slow"]),
        Want(n=5, tasks=["nobody"]),
    )
    got = [[job.id for job in claim.jobs] for claim in answer.claims]
    assert got == [[quick], [], [slow], []]
    assert len({job.token for claim in answer.claims for job in claim.jobs}) == 2


def test_floors_are_those_of_each_want(store: Store) -> None:
    for _ in range(4):
        make_job(store, "a")
        make_job(store, "b")
    worker = make_worker(store)
    a, b = exchange(worker, [], Want(n=1, tasks=["a"]), Want(n=2, tasks=["b"])).claims
    answer = exchange(
        worker,
        [],
        Want(n=9, tasks=["a"], floors=a.floors),
        Want(n=9, tasks=["b"], floors=b.floors),
    )
    assert [len(claim.jobs) for claim in answer.claims] == [3, 2]


@pytest.mark.parametrize(
    ("wants", "hungry", "idle"),
    [
        ([], False, False),
        ([], True, True),
        ([Want(n=0)], False, False),
        ([Want(n=1, tasks=["there"])], False, False),
        ([Want(n=1, tasks=["there"])], True, True),
        ([Want(n=2, tasks=["there"])], False, True),
        ([Want(n=1, tasks=["none"]), Want(n=1, tasks=["there"])], False, True),
        ([Want(n=1, tasks=["there"]), Want(n=1, tasks=["none"])], False, True),
    ],
)
@pytest.mark.parametrize("was", [True, False])
def test_idle_is_who_got_less_than_it_asked_for(
    store: Store, sql: psycopg.Connection, wants: list[Want], hungry: bool, idle: bool, was: bool
) -> None:
    make_job(store, "there")
    worker = make_worker(store)
    sql.execute("UPDATE tenure.worker SET idle = %s", (was,))
    answer = exchange(worker, [], *wants, wants_jobs=hungry)
    assert is_idle(sql, worker) is idle
    assert answer.idled is (idle and not was)


def test_a_draining_worker_gets_nothing_and_wants_no_notice(
    store: Store, sql: psycopg.Connection
) -> None:
    make_job(store)
    worker = make_worker(store)
    job = worker.claim_one()
    make_job(store)
    store.drain(worker.id)
    answer = exchange(worker, [ending(job)], 5, wants_jobs=True)
    assert answer.finished.accepted == {job.id: State.COMPLETED}
    assert answer.claims[0].jobs == ()
    assert not is_idle(sql, worker)


def test_a_worker_that_was_declared_dead_is_told_so(store: Store, sql: psycopg.Connection) -> None:
    make_job(store)
    worker = make_worker(store)
    job = worker.claim_one()
    make_job(store)
    sql.execute("UPDATE tenure.worker SET expires_at = now() - interval '1s', dead_at = now()")
    answer = exchange(worker, [ending(job)], 1, promoting=True)
    assert not answer.alive
    assert answer.finished.refused == (job.id,)
    assert not answer.claims[0].alive
    assert answer.claims[0].jobs == ()
    assert not exchange(worker).alive
    assert not is_idle(sql, worker)


def test_refused_and_busy_are_told_apart_and_hold_up_nothing(
    store: Store, connect: Connect
) -> None:
    jobs = [make_job(store) for _ in range(4)]
    worker = make_worker(store)
    fine, locked, strange = worker.claim(3)
    other = connect()
    other.execute("SELECT FROM tenure.job WHERE id = %s FOR UPDATE", (locked.id,))
    late = Ending(job=strange.id, token=strange.token + 1, outcome="completed")
    answer = exchange(worker, [ending(fine), ending(locked), late], 1)
    assert answer.finished.accepted == {fine.id: State.COMPLETED}
    assert (answer.finished.busy, answer.finished.refused) == ((locked.id,), (strange.id,))
    assert [job.id for job in answer.claims[0].jobs] == jobs[3:]


def test_what_a_finished_job_made_way_for_is_claimed_in_the_same_call(store: Store) -> None:
    ids = make_jobs(
        store,
        [
            NewJob(key="a", task="work", target="x"),
            NewJob(key="b", task="work", target="x"),
            NewJob(key="c", task="work", after=["b"]),
        ],
    )
    worker = make_worker(store)
    job = worker.claim_one()
    for key in ("b", "c"):
        answer = exchange(worker, [ending(job)], 1)
        assert answer.finished.wakes
        (job,) = answer.claims[0].jobs
        assert job.id == ids[key]


def test_without_being_asked_it_leaves_the_wakes_of_others_alone(store: Store) -> None:
    make_job(store, target="x")
    worker = make_worker(store)
    answer = exchange(worker, [], 1)
    assert (answer.promoted, answer.claims[0].jobs) == (None, ())
    answer = exchange(worker, [], 1, promoting=True)
    assert answer.promoted is not None
    assert answer.promoted.targets == 1
    assert len(answer.claims[0].jobs) == 1


def test_it_says_when_the_next_job_is_due(store: Store) -> None:
    worker = make_worker(store)
    assert exchange(worker, [], 1).next_due is None
    assert store.promote().next_due is None
    make_job(store, run_at=datetime.now(UTC) + timedelta(hours=2))
    make_job(store, run_at=datetime.now(UTC) + timedelta(hours=1))
    for due in (
        exchange(worker, [], 1).next_due,
        exchange(worker, [], promoting=True).next_due,
        store.promote().next_due,
    ):
        assert due is not None
        assert 3590 < due <= 3600
    assert exchange(worker).next_due is None, "nobody looks who has enough to do"


def test_what_is_overdue_but_not_promoted_is_due_at_once(
    store: Store, sql: psycopg.Connection
) -> None:
    make_job(store, delay=timedelta(hours=1))
    sql.execute("UPDATE tenure.job SET run_at = now() - interval '1h'")
    assert exchange(make_worker(store), [], 1).next_due == 0


def test_a_promotion_that_fails_costs_only_itself(store: Store, sql: psycopg.Connection) -> None:
    make_job(store)
    make_job(store, target="x")
    worker = make_worker(store)
    job = worker.claim_one()
    make_job(store)
    sql.execute("""
        CREATE FUNCTION tenure.sabotage() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN RAISE ''the row is broken''; END';
        CREATE TRIGGER sabotage BEFORE DELETE ON tenure.wake
        FOR EACH ROW EXECUTE FUNCTION tenure.sabotage()
    """)
    try:
        answer = exchange(worker, [ending(job)], 1, promoting=True)
    finally:
        sql.execute("DROP FUNCTION tenure.sabotage() CASCADE")
    assert answer.finished.accepted == {job.id: State.COMPLETED}
    assert len(answer.claims[0].jobs) == 1
    assert (answer.promoted, answer.promote_error) == (None, "the row is broken")
    row = sql.execute("SELECT detail FROM tenure.event WHERE kind = 'promote_failed'").fetchone()
    assert row == ({"error": "the row is broken"},)
    after = exchange(worker, [], 1, promoting=True)
    assert len(after.claims[0].jobs) == 1, "the wake was not lost"


def test_all_of_it_or_nothing(store: Store, sql: psycopg.Connection) -> None:
    make_job(store)
    worker = make_worker(store)
    job = worker.claim_one()
    make_job(store)
    with pytest.raises(InputRefused):
        exchange(worker, [ending(job, "done")], 1)  # type: ignore[arg-type]
    with pytest.raises(InputRefused):
        store.exchange(worker.id, [ending(job)], [Want(n=1, queues="x")])
    assert store.show(job.id).state is State.RUNNING
    assert len(store.held(worker.id)) == 1
