"""promote: what has become claimable is made ready, and nothing else."""

from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import psycopg
import pytest

from tenure.domain.job import NEVER, After
from tenure.domain.lifecycle import Intent, Reason, State, Status
from tenure.store.outcomes import Artifact, Report
from tenure.store.results import Claimed
from tenure.store.store import Store
from tenure.testing import Clock
from tests.conftest import Connect
from tests.factories import Worker, end_as_stopped, make_job, make_worker, promote

Policy = Literal["wait", "fail", "run"]
NO = {"type": "ValueError", "message": "no"}


def claimable(store: Store) -> list[int]:
    """What a worker would get now, without taking it."""
    promote(store)
    worker = make_worker(store)
    jobs = worker.claim(50)
    if jobs:
        worker.release(*jobs)
    promote(store)
    return [job.id for job in jobs]


def test_a_scheduled_job_becomes_ready_at_its_time_and_not_before(
    store: Store, clock: Clock
) -> None:
    job = make_job(store, delay=timedelta(minutes=10))
    assert store.show(job).status is Status.SCHEDULED
    assert store.show(job).waiting is Reason.TIME
    clock.advance(timedelta(minutes=9))
    assert claimable(store) == []
    clock.advance(timedelta(minutes=2))
    assert claimable(store) == [job]


def test_a_job_that_nobody_has_queued_is_never_promoted(store: Store, clock: Clock) -> None:
    job = make_job(store, run_at=NEVER)
    clock.advance(timedelta(days=10_000))
    assert claimable(store) == []
    assert store.show(job).status is Status.PENDING
    store.queue(job)
    assert claimable(store) == [job]


def test_promoting_twice_or_with_nothing_to_do_changes_nothing(
    store: Store, sql: psycopg.Connection
) -> None:
    job = make_job(store, target="site")
    promote(store)
    before = sql.execute("SELECT * FROM tenure.job").fetchall()
    again = store.promote()
    assert (again.linked, again.due, again.targets, again.closed, again.more) == (0, 0, 0, 0, False)
    assert sql.execute("SELECT * FROM tenure.job").fetchall() == before
    assert claimable(store) == [job]


def test_a_full_batch_says_that_there_is_more(store: Store) -> None:
    for number in range(3):
        make_job(store, target=f"site{number}")
    assert store.promote(2).more
    assert not store.promote(2).more
    assert len(make_worker(store).claim(9)) == 3


def test_a_job_waits_for_all_it_comes_after(store: Store) -> None:
    first, second = make_job(store), make_job(store)
    job = make_job(store, after=[first, second])
    worker = make_worker(store)
    one, two = worker.claim(2)

    worker.finish(one)
    promote(store)
    assert store.show(job).waiting is Reason.DEPENDENCIES
    assert store.show(job).status is Status.WAITING
    worker.finish(two)
    assert claimable(store) == [job]
    late = make_job(store, after=[first, second])  # both are completed already
    assert claimable(store) == [job, late]


def fail(store: Store, job: int) -> None:
    worker = make_worker(store)
    worker.finish(worker.claim_one(), "failed", error=NO)


def cancel(store: Store, job: int) -> None:
    store.stop(job, cascade=False)


@pytest.mark.parametrize(
    ("policy", "state", "waiting"),
    [
        ("wait", State.PENDING, Reason.DEPENDENCIES),
        ("fail", State.FAILED, None),
        ("run", State.PENDING, None),
    ],
)
@pytest.mark.parametrize(("end", "word"), [(fail, "failed"), (cancel, "cancelled")])
def test_an_edge_says_what_becomes_of_a_job_whose_dependency_did_not_complete(
    store: Store, end: Any, word: str, policy: Policy, state: State, waiting: Reason | None
) -> None:
    first = make_job(store)
    job = make_job(store, after=[After(first, policy)])

    end(store, first)

    assert claimable(store) == ([job] if policy == "run" else [])
    shown = store.show(job)
    assert (shown.state, shown.waiting) == (state, waiting)
    if policy == "fail":
        assert shown.error_message == f"job {first}, which it comes after, is {word}"
    if policy == "wait":
        (reason,) = [r for r in store.explain(job).reasons if r.reason == "dependency"]
        assert str(first) in reason.sentence
        assert word in reason.sentence


def test_a_dependent_continues_when_the_failed_job_was_resumed_and_completed(store: Store) -> None:
    first = make_job(store)
    job = make_job(store, after=[first])
    fail(store, first)
    promote(store)
    store.resume(first)
    worker = make_worker(store)
    worker.finish(worker.claim_one())
    assert claimable(store) == [job]


def test_a_paused_dependency_is_neither_met_nor_fatal(store: Store) -> None:
    first = make_job(store)
    waits, fails = (make_job(store, after=[After(first, policy)]) for policy in ("run", "fail"))
    store.stop(first, intent=Intent.PAUSE)
    assert claimable(store) == []
    assert store.show(waits).state is store.show(fails).state is State.PENDING


def test_a_line_goes_by_priority_and_then_by_id_one_at_a_time(store: Store) -> None:
    low, first, second, top = (
        make_job(store, target="site", priority=priority) for priority in (-1, 5, 5, 9)
    )
    elsewhere = make_job(store, target="other")
    promote(store)
    worker = make_worker(store)
    order = []
    while jobs := worker.claim(9):
        order.append([job.id for job in jobs])
        assert all(store.show(job).status is not Status.QUEUED for job in (low, first, second, top))
        for job in jobs:
            worker.finish(job)
        promote(store)
    assert [sorted(ids) for ids in order] == [[top, elsewhere], [first], [second], [low]]


def test_whoever_was_promoted_is_not_overtaken_by_a_higher_priority(store: Store) -> None:
    job = make_job(store, target="site")
    promote(store)
    late = make_job(store, target="site", priority=100)
    assert claimable(store) == [job]
    assert store.show(late).status is Status.BLOCKED


def in_line(store: Store, **first: Any) -> tuple[Worker, Claimed, int]:
    """A job that runs and holds its target, and one that would go first if it could."""
    make_job(store, target="site", **first)
    promote(store)
    worker = make_worker(store, timedelta(hours=1))
    claimed = worker.claim_one()
    return worker, claimed, make_job(store, target="site", priority=100)


@pytest.mark.parametrize("ending", ["retry", "released", "crash"])
def test_a_target_is_held_through_retry_release_and_crash(store: Store, ending: Any) -> None:
    worker, job, other = in_line(store)
    if ending == "crash":
        worker.crash(job)
    else:
        worker.finish(job, ending)
    assert claimable(store) == [job.id]
    assert store.show(other).status is Status.BLOCKED


def test_a_target_is_held_through_backoff(store: Store, clock: Clock) -> None:
    worker, job, _ = in_line(store)
    worker.finish(job, "retry", run_at=datetime.now(UTC) + timedelta(minutes=5))
    assert claimable(store) == []
    clock.advance(timedelta(minutes=6))
    assert claimable(store) == [job.id]


def end(store: Store, worker: Worker, job: Claimed, word: str) -> None:
    if word == "paused":
        store.stop(job.id, intent=Intent.PAUSE)
        end_as_stopped(worker, job)
    else:
        worker.finish(job, "failed", error=NO)


@pytest.mark.parametrize("word", ["paused", "failed"])
def test_a_paused_or_failed_job_blocks_its_target_and_goes_first_when_resumed(
    store: Store, word: str
) -> None:
    worker, job, other = in_line(store)
    end(store, worker, job, word)

    assert claimable(store) == []
    (reason,) = [r for r in store.explain(other).reasons if r.reason == "target"]
    assert f"job {job.id}, which is {word}" in reason.sentence
    store.resume(job.id)
    assert claimable(store) == [job.id]


@pytest.mark.parametrize("word", ["paused", "failed"])
def test_block_on_lets_others_pass(store: Store, word: str) -> None:
    other_word = {"paused": "failed", "failed": "paused"}[word]
    worker, job, other = in_line(store, block_on=[other_word])
    end(store, worker, job, word)
    assert claimable(store) == [other]
    store.resume(job.id)
    assert claimable(store) == [other]  # it holds the target now


@pytest.mark.parametrize("word", ["completed", "cancelled", "cleared"])
def test_a_target_is_free_when_its_holder_is_completed_cancelled_or_cleared(
    store: Store, word: str
) -> None:
    worker, job, other = in_line(store)
    if word == "completed":
        worker.finish(job)
    elif word == "cancelled":
        store.stop(job.id)
        end_as_stopped(worker, job)
    else:
        worker.finish(job, "failed", error=NO)
        store.clear(job.id)
    assert claimable(store) == [other]


def test_a_job_paused_in_the_line_blocks_all_who_do_not_hold_the_target_yet(store: Store) -> None:
    worker, job, other = in_line(store)
    third = make_job(store, target="site")
    store.stop(other, intent=Intent.PAUSE)
    worker.finish(job)
    assert claimable(store) == []
    store.stop(other)
    assert claimable(store) == [third]


def test_only_due_jobs_with_met_dependencies_stand_in_the_line(store: Store) -> None:
    """A job that is not queued, not due or not free does not block the target."""
    need = make_job(store, queue="elsewhere")
    waiting = [
        make_job(store, target="site", priority=9, **fields)
        for fields in ({"run_at": NEVER}, {"delay": timedelta(hours=1)}, {"after": [need]})
    ]
    job = make_job(store, target="site")
    promote(store)
    assert [claimed.id for claimed in make_worker(store).claim(9, queues=["default"])] == [job]
    assert all(store.show(other).status is not Status.BLOCKED for other in waiting)


def test_a_paused_target_starts_no_job_and_resumes_in_order(store: Store) -> None:
    first, second = make_job(store, target="site"), make_job(store, target="site")
    promote(store)
    store.pause_dispatch("target", "site")  # the first had been promoted
    assert claimable(store) == []
    assert store.show(first).status is Status.BLOCKED
    store.resume_dispatch("target", "site")
    assert claimable(store) == [first]
    assert store.show(second).status is Status.BLOCKED


@pytest.mark.parametrize("what", ["dependent", "dependency", "target"])
def test_what_is_locked_is_not_waited_for_and_its_wake_is_not_lost(
    store: Store, connect: Connect, what: str
) -> None:
    need = make_job(store)
    fields: dict[str, Any] = {"target": "site"} if what == "target" else {"after": [need]}
    job = make_job(store, **fields)
    worker = make_worker(store)
    worker.finish(worker.claim_one())
    other, promoter = connect(), connect()
    locked = need if what == "dependency" else job
    other.execute("SELECT FROM tenure.job WHERE id = %s FOR UPDATE", (locked,))

    promoter.execute("SET lock_timeout = '50ms'")
    promoter.execute("SELECT tenure.promote()")
    promoter.commit()

    assert worker.claim() == ()
    other.rollback()
    assert claimable(store) == [job]


def test_what_else_there_is_to_do_is_told(store: Store) -> None:
    worker, job = make_worker(store), make_job(store)
    claimed = worker.claim_one()
    artifact = Artifact("a.txt", "file:///kept/a.txt", 1)
    worker.store.report(worker.id, [Report(job=job, token=claimed.token, artifacts=[artifact])])
    store.set_policy("off", {"when": {"age": "1h"}}, enabled=False)
    assert store.promote().chores == ()

    store.stop(job, preserve=False)
    end_as_stopped(worker, claimed)
    assert store.promote().chores == ("discards",)
    store.set_policy("off", {"when": {"age": "1h"}})
    bulk = store.bulk_stop({})
    assert store.promote().chores == ("bulks", "discards", "policies")

    store.advance_bulk(bulk=bulk.id)
    store.drop_policy("off")
    store.discarded(job, [artifact.url])
    assert store.promote().chores == ()
