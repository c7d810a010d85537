"""Waits that meet a recovery, a stop or the end of their time: nothing is lost or comes twice."""

import json
from datetime import timedelta
from typing import Any

import pytest

from tenure.domain.lifecycle import State
from tenure.errors import IllegalTransition
from tenure.store.calls import control_calls, step_calls, upkeep, worker_calls
from tenure.store.outcomes import Ending, Report
from tenure.store.results import Claimed
from tenure.store.store import Store
from tenure.testing import Clock
from tests.factories import Worker, make_job, make_worker, promote
from tests.store.races.stage import Stage
from tests.store.races.test_limits import asking
from tests.store.races.test_steps import asked
from tests.store.test_steps import running, wait, waiting

YES = json.dumps({"ok": True})


def held(store: Store) -> tuple[Worker, Claimed]:
    """A running job of a worker whose lease is short."""
    make_job(store)
    worker = make_worker(store, timedelta(seconds=20))
    promote(store)
    return worker, worker.claim_one()


@pytest.mark.parametrize("first", ["answer", "recover"])
def test_an_answer_and_a_recovery(store: Store, stage: Stage, clock: Clock, first: str) -> None:
    """The worker died when it had asked, before it gave the slot back."""
    worker, job = held(store)
    assert wait(worker, job, "question").state == "open"
    clock.advance(timedelta(seconds=60))
    store.sweep()
    a, b = stage.session(), stage.session()
    if first == "answer":
        a(step_calls.answer(job.id, YES))
        b(upkeep.recover())  # leaves the job, which is locked
        a.commit()
        b.commit()
        store.recover()
    else:
        b(upkeep.recover())
        late = stage.waits(a, step_calls.answer(job.id, YES))
        b.commit()
        late.result()
        a.commit()
    promote(store)
    other = make_worker(store, timedelta(hours=1))
    again = other.claim_one()
    seen = wait(other, again, "question")
    assert (seen.state, seen.value) == ("arrived", {"ok": True})


@pytest.mark.parametrize("first", ["publish", "timeout"])
def test_an_event_and_the_end_of_the_wait_decide_once(
    store: Store, stage: Stage, clock: Clock, first: str
) -> None:
    worker, job = waiting(store, "event", within=60)
    clock.advance(timedelta(seconds=61))
    promote(store)
    claimed = worker.claim_one()
    a, b = stage.session(), stage.session()
    look = step_calls.await_step(worker.id, job, claimed.token, asked("event", 60))
    a(step_calls.publish("paid", "7", "5"))
    if first == "publish":
        a.commit()
        assert b(look).state == "arrived"  # it was there when its time was looked at
        b.commit()
    else:
        assert b(look).state == "timeout"
        b.commit()
        a.commit()
        promote(store)
    [step] = store.steps(job)
    assert step.status == ("done" if first == "publish" else "timeout")
    assert wait(worker, claimed, "event", within=60).state == step.status.replace("done", "arrived")


@pytest.mark.parametrize("first", ["wait", "cancel"])
def test_a_wait_and_a_cancel(store: Store, stage: Stage, first: str) -> None:
    worker, job = running(store)
    a, b = stage.session(), stage.session()
    begin = step_calls.await_step(worker.id, job.id, job.token, asked("question"))
    if first == "wait":
        a(begin)
        stop = stage.waits(b, control_calls.stop(job.id))
        a.commit()
        stop.result()
        b.commit()
    else:
        b(control_calls.stop(job.id))
        late = stage.waits(a, begin)
        b.commit()
        assert late.result().state == "open"
        a.commit()
    with pytest.raises(IllegalTransition, match="cannot answer"):
        store.answer(job.id, YES)
    worker.finish(job, "released", until="answer")
    assert store.show(job.id).state is State.CANCELLED
    assert store.questions() == ()


@pytest.mark.parametrize("first", ["reserve", "crash"])
def test_a_reservation_and_a_crash_charge_what_was_reserved(
    store: Store, stage: Stage, first: str
) -> None:
    worker, job = running(store, budget={"tokens": 100})
    a, b = stage.session(), stage.session()
    reserve = asking(worker, job, reserve={"tokens": 60})
    crash = worker_calls.crash(worker.id, [Ending(job=job.id, token=job.token)])
    if first == "reserve":
        assert a(reserve).answered[str(job.id)]["1"].granted
        assert b(crash).busy == (job.id,)
        a.commit()
        b(crash)
        b.commit()
    else:
        b(crash)
        assert a(reserve).answered == {}
        b.commit()
        a.commit()
    assert stage.one("SELECT count(*) FROM tenure.reservation") == 0
    spent = store.show(job.id).spent or {}
    assert dict(spent) == ({"tokens": 60} if first == "reserve" else {})


def test_a_throttled_call_and_a_claim(store: Store, stage: Stage) -> None:
    """A job that starts after the close was committed did not take from the closed limit."""
    store.set_limit("api", at_once=5)
    worker, job = running(store)
    assert store.send(asking(worker, job, limit="api")).answered[str(job.id)]["1"].granted
    waiting_job = make_job(store, limits=["api"])
    promote(store)
    a, b = stage.session(), stage.session()
    settled: list[Any] = [{"number": 1, "retry_after": 30}]
    a(worker_calls.report(worker.id, [Report(job=job.id, token=job.token, settled=settled)]))
    claim = stage.sent(b, worker_calls.claim(make_worker(store).id, 1))
    a.commit()
    assert claim.result().jobs == ()  # the limit was locked, or it is closed
    b.commit()
    promote(store)
    assert make_worker(store).claim(1) == ()
    assert store.show(waiting_job).state is State.PENDING
