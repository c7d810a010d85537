"""Limits at the claim: rates, grants at once, lines, closing and opening."""

from datetime import timedelta
from typing import Any

import psycopg
import pytest

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import Intent, Reason, State
from tenure.errors import InputRefused, NotFound
from tenure.store.store import Store
from tenure.testing import Clock
from tests.factories import announcement, make_job, make_worker, promote

PER_MINUTE = {"calls": {"amount": 3, "per": "1m"}}


def make_jobs(store: Store, n: int, limit: str = "api", **fields: Any) -> list[int]:
    return [make_job(store, limits=[limit], **fields) for _ in range(n)]


def test_a_limit_starts_what_it_has_room_for_and_lines_up_the_rest(
    store: Store, clock: Clock
) -> None:
    store.set_limit("api", PER_MINUTE)
    jobs = make_jobs(store, 5)
    worker = make_worker(store, timedelta(hours=1))
    assert [job.id for job in worker.claim(10)] == jobs[:3]
    assert [store.show(job).waiting for job in jobs] == [None] * 3 + [Reason.LIMIT] * 2
    assert worker.claim(10) == ()
    assert store.promote().next_due == pytest.approx(20, abs=1)
    clock.advance(timedelta(seconds=21))
    promote(store)
    assert [job.id for job in worker.claim(10)] == jobs[3:4]
    clock.advance(timedelta(seconds=60))
    promote(store)
    assert [job.id for job in worker.claim(10)] == jobs[4:]


def test_a_burst_is_what_may_start_at_once(store: Store, clock: Clock) -> None:
    store.set_limit("api", {"calls": {"amount": 60, "per": "1m", "burst": 2}})
    make_jobs(store, 5)
    worker = make_worker(store, timedelta(days=1))
    assert len(worker.claim(10)) == 2
    clock.advance(timedelta(hours=1))
    promote(store)
    assert len(worker.claim(10)) == 2


def test_a_limit_at_once_is_free_again_when_a_job_ends(store: Store) -> None:
    store.set_limit("api", at_once=2)
    jobs = make_jobs(store, 4)
    worker = make_worker(store, timedelta(hours=1))
    first, second = worker.claim(10)
    assert worker.claim(10) == ()
    assert store.limits("api")[0].names[0].in_use == 2
    assert worker.finish(first).wakes
    promote(store)
    assert [job.id for job in worker.claim(10)] == [jobs[2]]
    worker.crash(second)
    promote(store)
    assert [job.id for job in worker.claim(10)] == [jobs[3]]  # what crashed waits behind the line


@pytest.mark.parametrize("end", ["failed", "retry", "released", "stopped"])
def test_every_end_of_an_attempt_returns_its_grant(store: Store, end: str) -> None:
    store.set_limit("api", at_once=1)
    make_jobs(store, 1)
    worker = make_worker(store, timedelta(hours=1))
    job = worker.claim_one()
    if end == "stopped":
        store.stop(job.id)
    worker.finish(job, end)  # type: ignore[arg-type]
    assert store.limits("api")[0].names[0].in_use == 0


def test_each_key_of_a_template_is_limited_by_itself(store: Store) -> None:
    store.set_limit("openai:{model}", at_once=1)
    small = make_jobs(store, 2, "openai:small")
    large = make_jobs(store, 2, "openai:large")
    started = make_worker(store).claim(10)
    assert {job.id for job in started} == {small[0], large[0]}
    [limit] = store.limits()
    assert {name.name: (name.in_use, name.waiting) for name in limit.names} == {
        "openai:small": (1, 1),
        "openai:large": (1, 1),
    }


def test_the_rule_with_the_most_text_limits_a_name(store: Store) -> None:
    store.set_limit("{any}", at_once=5)
    store.set_limit("openai:{model}", at_once=3)
    store.set_limit("openai:large", at_once=1)
    for name in ("openai:large", "openai:small", "mail"):
        make_jobs(store, 6, name)
    worker = make_worker(store)
    started = [store.show(job.id) for job in worker.claim(30)]
    assert len(started) == 1 + 3 + 5


def test_a_job_starts_only_when_all_its_limits_have_room(store: Store) -> None:
    store.set_limit("wide", at_once=10)
    store.set_limit("narrow", at_once=1)
    jobs = [make_job(store, limits=["wide", "narrow"]) for _ in range(3)]
    worker = make_worker(store, timedelta(hours=1))
    [first] = worker.claim(10)
    assert {name.name: name.in_use for limit in store.limits() for name in limit.names} == {
        "narrow": 1,
        "wide": 1,
    }
    worker.finish(first)
    promote(store)
    assert [job.id for job in worker.claim(10)] == [jobs[1]]


def test_a_name_without_a_rule_is_not_limited(store: Store) -> None:
    make_jobs(store, 5, "nobody set this")
    assert len(make_worker(store).claim(10)) == 5


def test_a_new_job_does_not_overtake_the_line(store: Store) -> None:
    store.set_limit("api", at_once=1)
    jobs = make_jobs(store, 2)
    worker = make_worker(store, timedelta(hours=1))
    first = worker.claim(10)[0]
    late = make_job(store, limits=["api"])
    assert store.show(late).waiting is Reason.LIMIT
    worker.finish(first)
    promote(store)
    later = make_job(store, limits=["api"])
    [second] = worker.claim(10)
    assert second.id == jobs[1]
    worker.finish(second)
    promote(store)
    assert worker.claim_one().id == late
    assert store.show(later).waiting is Reason.LIMIT


def test_a_retry_waits_behind_the_line(store: Store) -> None:
    store.set_limit("api", at_once=1)
    jobs = make_jobs(store, 2)
    worker = make_worker(store, timedelta(hours=1))
    first = worker.claim(10)[0]
    worker.finish(first, "retry")
    promote(store)
    assert [job.id for job in worker.claim(10)] == [jobs[1]]
    assert store.show(jobs[0]).waiting is Reason.LIMIT


def test_a_higher_priority_comes_first_in_the_line(store: Store) -> None:
    store.set_limit("api", at_once=1)
    make_jobs(store, 2)
    worker = make_worker(store, timedelta(hours=1))
    first = worker.claim(10)[0]
    urgent = make_job(store, limits=["api"], priority=5)
    worker.finish(first)
    promote(store)
    assert worker.claim_one().id == urgent


def test_a_closed_limit_starts_nothing_until_its_time_or_until_it_is_opened(
    store: Store, clock: Clock
) -> None:
    store.set_limit("api", PER_MINUTE)
    [job] = make_jobs(store, 1)
    closed = store.close_limit("api", duration=timedelta(minutes=5), reason="429")
    assert closed.closed is not None
    assert closed.closed.reason == "429"
    worker = make_worker(store, timedelta(hours=1))
    assert worker.claim(10) == ()
    [reason] = [r for r in store.explain(job).reasons if r.reason == "limit"]
    assert "is closed by" in reason.sentence
    assert "429" in reason.sentence
    assert store.promote().next_due == pytest.approx(300, abs=1)
    store.open_limit("api")
    promote(store)
    assert worker.claim_one().id == job
    store.close_limit("api")
    [other] = make_jobs(store, 1)
    clock.advance(timedelta(days=1))
    worker = make_worker(store, timedelta(hours=1))
    assert worker.claim(10) == ()
    store.open_limit("api")
    promote(store)
    assert worker.claim_one().id == other


def test_one_key_of_a_template_can_be_closed(store: Store) -> None:
    store.set_limit("openai:{model}", at_once=5)
    make_jobs(store, 1, "openai:small")
    [large] = make_jobs(store, 1, "openai:large")
    store.close_limit("openai:small")
    assert [job.id for job in make_worker(store).claim(10)] == [large]
    with pytest.raises(NotFound):
        store.close_limit("mail")


def test_explain_says_when_a_limit_has_room_again(store: Store) -> None:
    store.set_limit("api", PER_MINUTE, at_once=10)
    jobs = make_jobs(store, 4)
    make_worker(store).claim(10)
    [reason] = [r for r in store.explain(jobs[3]).reasons if r.reason == "limit"]
    assert reason.sentence.startswith(
        "its limit api is used up; the first job that waits for it may start at 20"
    )
    assert store.explain(jobs[0]).reasons == ()


def test_a_dropped_or_widened_limit_lets_its_line_start(store: Store) -> None:
    store.set_limit("api", at_once=1)
    make_jobs(store, 6)
    worker = make_worker(store)
    worker.claim(10)
    store.set_limit("api", at_once=3)
    promote(store)
    assert len(worker.claim(10)) == 2
    store.drop_limit("api")
    promote(store)
    assert len(worker.claim(10)) == 3
    with pytest.raises(NotFound):
        store.drop_limit("api")


def test_a_called_job_that_is_stopped_does_not_keep_its_place(store: Store, clock: Clock) -> None:
    store.set_limit("api", at_once=1)
    jobs = make_jobs(store, 3)
    worker = make_worker(store, timedelta(hours=1))
    first = worker.claim(10)[0]
    worker.finish(first)
    promote(store)
    assert store.show(jobs[1]).waiting is None
    store.stop(jobs[1])
    assert worker.claim(10) == ()
    clock.advance(timedelta(seconds=6))
    promote(store)
    assert worker.claim_one().id == jobs[2]


def test_a_job_in_a_line_can_be_stopped_paused_and_resumed(store: Store) -> None:
    store.set_limit("api", at_once=1)
    jobs = make_jobs(store, 3)
    worker = make_worker(store, timedelta(hours=1))
    first = worker.claim(10)[0]
    store.stop(jobs[1])
    store.stop(jobs[2], intent=Intent.PAUSE)
    assert store.show(jobs[1]).state is State.CANCELLED
    worker.finish(first)
    promote(store)
    assert worker.claim(10) == ()
    store.resume(jobs[2])
    promote(store)
    assert worker.claim_one().id == jobs[2]


def test_limits_pools_and_targets_hold_together(store: Store) -> None:
    store.set_limit("api", at_once=1)
    store.create_pool("tree", ["a", "b"])
    jobs = []
    for at in range(3):
        jobs.append(make_job(store, limits=["api"], pools=["tree"], target=f"site:{at}"))
        promote(store)
    worker = make_worker(store, timedelta(hours=1))
    first = worker.claim_one()
    worker.claim(10)
    assert first.slots == {"tree": "a"}
    assert [slot.job_id for slot in store.pools("tree")[0].slots] == [first.id, None]
    store.pause_dispatch("target", "site:1")
    worker.finish(first)
    promote(store)
    assert store.show(jobs[1]).waiting is Reason.TARGET
    assert [job.id for job in worker.claim(10)] == [jobs[2]]


def test_a_long_line_is_moved_aside_in_parts(store: Store) -> None:
    store.set_limit("api", at_once=1)
    store.enqueue_many(NewJob(task="work", limits=["api"]), [{}] * 2500)
    free = make_job(store, "free")
    worker = make_worker(store, timedelta(hours=1))
    started = [job.id for _ in range(5) for job in worker.claim(5)]
    assert len(started) == 2
    assert free in started
    [limit] = store.limits("api")
    assert limit.names[0].waiting == 2499


def test_what_a_task_declares_is_filled_in_from_the_arguments(store: Store) -> None:
    parts = [{"text": "openai:", "field": "model", "refusal": "it takes a text"}]
    limits = [{"text": "openai:{model}", "parts": parts}]
    store.announce_tasks([announcement("ask", limits=limits)])
    store.set_limit("openai:{model}", at_once=1)
    jobs = store.enqueue(
        [NewJob(task="ask", args={"model": model}) for model in ("a", "a", "b")], given=[()] * 3
    )
    assert {job.id for job in make_worker(store).claim(10)} == {jobs[0].id, jobs[2].id}
    assert store.show(jobs[1].id).waiting is Reason.LIMIT
    assert store.tasks("ask")[0].limits == ("openai:{model}",)


def test_a_job_that_waited_for_its_task_gets_its_limits(store: Store) -> None:
    jobs = [job.id for job in store.enqueue([NewJob(task="later")] * 2, given=[()] * 2)]
    limits = [{"text": "api", "parts": [{"text": "api"}]}]
    store.announce_tasks([announcement("later", limits=limits)])
    store.set_limit("api", at_once=1)
    promote(store)
    assert [job.id for job in make_worker(store).claim(10)] == jobs[:1]


@pytest.mark.parametrize(
    ("rates", "at_once"),
    [
        ({}, None),
        ({}, 0),
        ({"calls": {"amount": 0, "per": "1m"}}, None),
        ({"calls": {"amount": 5, "per": "soon"}}, None),
        ({"calls": {"amount": 5}}, None),
        ({"calls": 5}, None),
        ({"calls": {"amount": 0.5, "per": "1m"}}, None),
        ({"calls": {"amount": 5, "per": "1m", "burst": 0}}, None),
    ],
)
def test_a_limit_that_says_nothing_is_refused(store: Store, rates: object, at_once: int) -> None:
    with pytest.raises(InputRefused):
        store.set_limit("api", rates, at_once=at_once)  # type: ignore[arg-type]
    assert store.limits() == ()


def test_changes_of_limits_are_audited(store: Store) -> None:
    store.set_limit("api", at_once=1)
    store.close_limit("api", reason="maintenance")
    store.open_limit("api")
    store.drop_limit("api")
    rows = [row for row in store.audit_log() if row.subject == "limit"]
    assert [row.verb for row in reversed(rows)] == ["set", "close", "open", "drop"]


def test_unused_states_are_pruned_once_they_are_full(store: Store, clock: Clock) -> None:
    store.set_limit("api:{key}", {"calls": {"amount": 1, "per": "10h"}})
    make_jobs(store, 1, "api:a")
    worker = make_worker(store, timedelta(days=1))
    worker.finish(worker.claim_one())
    clock.advance(timedelta(hours=5))
    store.prune({})
    assert len(store.limits()[0].names) == 1
    clock.advance(timedelta(hours=6))
    store.prune({})
    assert store.limits()[0].names == ()


def test_limits_that_refill_slowly_do_not_hold_up_the_pruning_of_others(
    store: Store, clock: Clock
) -> None:
    worker = make_worker(store, timedelta(days=1))
    for name, per in (("slow", "100d"), ("fast", "1s")):
        store.set_limit(name, {"calls": {"amount": 1, "per": per}})
        make_jobs(store, 1, name)
        worker.claim_one()
    clock.advance(timedelta(hours=2))
    for _ in range(60):
        store.prune({}, n=1)
    assert [name.name for limit in store.limits() for name in limit.names] == ["slow"]


def test_prune_reads_each_limit_once(store: Store, clock: Clock, sql: psycopg.Connection) -> None:
    store.set_limit("api", PER_MINUTE)
    make_jobs(store, 1)
    make_worker(store, timedelta(days=1)).claim_one()
    clock.advance(timedelta(hours=2))
    with sql.transaction():
        sql.execute("SET LOCAL track_functions = 'all'")
        sql.execute("SELECT tenure.prune()")
        calls = "SELECT calls FROM pg_stat_xact_user_functions WHERE funcname = 'lock_limit'"
        assert sql.execute(calls.encode()).fetchall() == [(1,)]
