"""Grants that running jobs ask for, and reservations of their budgets."""

from datetime import timedelta
from typing import Any

import pytest

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import State
from tenure.store.limit_results import GrantAnswer
from tenure.store.outcomes import Report
from tenure.store.results import Claimed
from tenure.store.store import Store
from tenure.testing import Clock
from tests.factories import Worker, make_job, make_jobs, make_worker, promote


def running(store: Store, n: int = 1, **fields: Any) -> tuple[Worker, list[Claimed]]:
    for _ in range(n):
        make_job(store, **fields)
    worker = make_worker(store, timedelta(days=1))
    return worker, list(worker.claim(n))


def ask(worker: Worker, job: Claimed, number: int = 1, **wanted: Any) -> GrantAnswer:
    asks: list[Any] = [{"number": number, **wanted}]
    answer = worker.store.report(worker.id, [Report(job=job.id, token=job.token, asks=asks)])
    return answer.answered[str(job.id)][str(number)]


def settle(worker: Worker, job: Claimed, number: int = 1, **said: Any) -> None:
    spent = said.pop("spent", {})
    settled: list[Any] = [{"number": number, **said}]
    report = Report(job=job.id, token=job.token, spent=spent, settled=settled)
    worker.store.report(worker.id, [report])


def test_a_grant_takes_a_call_and_the_amounts_asked_for(store: Store, clock: Clock) -> None:
    rates = {"calls": {"amount": 60, "per": "1m"}, "tokens": {"amount": 1000, "per": "1m"}}
    store.set_limit("openai", rates, at_once=10)
    worker, [job] = running(store)
    assert ask(worker, job, limit="openai", amounts={"tokens": 700}).granted
    [name] = store.limits("openai")[0].names
    assert name.levels == pytest.approx({"calls": 59, "tokens": 300}, abs=30)
    assert name.in_use == 1
    refused = ask(worker, job, 2, limit="openai", amounts={"tokens": 400})
    assert not refused.granted
    assert 0 < refused.wait <= 1
    clock.advance(timedelta(seconds=7))
    assert ask(worker, job, 3, limit="openai", amounts={"tokens": 400}).granted


def test_what_was_used_corrects_the_grant(store: Store) -> None:
    store.set_limit("openai", {"tokens": {"amount": 1000, "per": "10h"}})
    worker, [job] = running(store)
    assert ask(worker, job, limit="openai", amounts={"tokens": 900}).granted
    settle(worker, job, used={"tokens": 100})
    assert ask(worker, job, 2, limit="openai", amounts={"tokens": 900}).granted
    settle(worker, job, 2, used={"tokens": 1500})
    [name] = store.limits("openai")[0].names
    assert name.levels["tokens"] == pytest.approx(-600, abs=1)
    settle(worker, job, 2, used={})
    assert store.limits("openai")[0].names[0].levels == pytest.approx(name.levels, abs=1)


def test_a_grant_that_can_never_be_made_is_refused(store: Store) -> None:
    store.set_limit("openai", {"tokens": {"amount": 1000, "per": "1m"}})
    worker, [job] = running(store)
    never = ask(worker, job, limit="openai", amounts={"tokens": 1001})
    assert "never grants 1001 tokens together" in str(never.refused)
    strange = ask(worker, job, 2, limit="openai", amounts={"pages": 1})
    assert "counts no pages; it counts tokens" in str(strange.refused)
    assert ask(worker, job, 3, limit="nobody set this", amounts={"x": 5}).granted


def test_a_job_does_not_wait_for_what_it_has_itself_until_it_ends(store: Store) -> None:
    store.set_limit("api", at_once=1)
    worker, [job] = running(store, limits=["api"])
    assert "has had it since it started" in str(ask(worker, job, limit="api").refused)
    store.set_limit("api", at_once=2)
    assert ask(worker, job, 2, limit="api").granted
    assert ask(worker, job, 3, limit="api").wait > 0


def test_one_throttled_call_closes_the_limit_for_everybody(store: Store, clock: Clock) -> None:
    store.set_limit("openai", at_once=5)
    worker, [job, other] = running(store, 2)
    waiting = make_job(store, limits=["openai"])
    assert ask(worker, job, limit="openai").granted
    settle(worker, job, retry_after=12)
    assert not ask(worker, other, limit="openai").granted
    assert make_worker(store, timedelta(hours=1)).claim(1) == ()
    [reason] = [r for r in store.explain(waiting).reasons if r.reason == "limit"]
    assert f"is closed by job:{job.id} until 20" in reason.sentence
    settle(worker, job, retry_after=1)  # the longest counts
    clock.advance(timedelta(seconds=11))
    assert not ask(worker, other, limit="openai").granted
    clock.advance(timedelta(seconds=2))
    assert ask(worker, other, limit="openai").granted


@pytest.mark.parametrize("end", ["completed", "failed", "released"])
def test_the_end_of_an_attempt_returns_what_it_holds(store: Store, end: Any) -> None:
    store.set_limit("openai", at_once=1)
    worker, [job, other] = running(store, 2)
    assert ask(worker, job, limit="openai").granted
    assert not ask(worker, other, limit="openai").granted
    worker.finish(job, end)
    assert ask(worker, other, limit="openai").granted


def test_an_attempt_that_was_taken_away_gets_no_grant_and_keeps_none(store: Store) -> None:
    store.set_limit("openai", at_once=1)
    worker, [job] = running(store)
    assert ask(worker, job, limit="openai").granted
    worker.crash(job)
    asked = Report(job=job.id, token=job.token, asks=[{"number": 2, "limit": "openai"}])
    answer = store.report(worker.id, [asked])
    assert answer.answered == {}
    assert store.limits("openai")[0].names[0].in_use == 0


def test_a_request_that_is_repeated_is_granted_once(store: Store) -> None:
    store.set_limit("openai", {"calls": {"amount": 5, "per": "10h"}})
    worker, [job] = running(store, budget={"tokens": 10})
    for _ in range(3):
        assert ask(worker, job, limit="openai").granted
        assert ask(worker, job, 2, reserve={"tokens": 6}).granted
    assert store.limits("openai")[0].names[0].levels["calls"] == pytest.approx(4, abs=0.1)


def tree(store: Store, tokens: int = 100) -> tuple[Worker, list[Claimed]]:
    jobs = [NewJob(key="top", budget={"tokens": tokens})]
    jobs += [NewJob(key=f"child-{at}", parent="top", task="work") for at in range(2)]
    make_jobs(store, jobs)
    worker = make_worker(store, timedelta(days=1))
    return worker, list(worker.claim(2))


def test_children_cannot_reserve_more_than_the_budget_above_them(store: Store) -> None:
    worker, [one, two] = tree(store)
    assert ask(worker, one, reserve={"tokens": 60}).granted
    assert ask(worker, two, reserve={"tokens": 50}).wait > 0
    settle(worker, one, used={"tokens": 40}, spent={"tokens": 40})
    assert ask(worker, two, reserve={"tokens": 50}).granted
    never = ask(worker, one, 2, reserve={"tokens": 61})
    assert "cannot hold 61 more: 40 spent" in str(never.exhausted)


def test_a_reservation_without_a_budget_is_granted(store: Store) -> None:
    worker, [job] = running(store)
    assert ask(worker, job, reserve={"tokens": 10**6}).granted


@pytest.mark.parametrize("end", ["crashed", "completed", "released"])
def test_what_nobody_settled_is_charged_when_the_attempt_ends(store: Store, end: Any) -> None:
    worker, [one, two] = tree(store)
    assert ask(worker, one, reserve={"tokens": 60}).granted
    worker.crash(one) if end == "crashed" else worker.finish(one, end)
    assert store.show(one.parent_id or 0).spent == {"tokens": 60}
    assert ask(worker, two, reserve={"tokens": 41}).exhausted
    assert ask(worker, two, 2, reserve={"tokens": 40}).granted


def test_a_resumed_job_has_the_raised_budget(store: Store) -> None:
    worker, [job] = running(store, budget={"tokens": 10})
    assert ask(worker, job, reserve={"tokens": 11}).exhausted
    worker.finish(job, "failed", error={"type": "tenure.BudgetExceeded", "message": "no"})
    assert store.resume(job.id, budget={"tokens": 20}).state is State.PENDING
    promote(store)
    again = worker.claim_one()
    assert ask(worker, again, reserve={"tokens": 11}).granted
