"""Answers, deadlines, stops, events and steps that meet: one decides, and no wake is lost."""

import json
from datetime import timedelta
from typing import Any

import pytest

from tenure.domain.lifecycle import State
from tenure.errors import IllegalTransition
from tenure.store.calls import control_calls, enqueue_calls, step_calls, upkeep, worker_calls
from tenure.store.outcomes import Report
from tenure.store.store import Store
from tenure.testing import Clock
from tests.factories import ending, make_job, make_worker, promote, set_back
from tests.store.races.stage import Stage
from tests.store.test_steps import running, step, wait, waiting

YES = json.dumps({"ok": True})


def asked(kind: str, within: int | None = None) -> dict[str, Any]:
    wait: dict[str, Any] = {"name": kind, "digest": kind, "kind": kind, "within": within}
    if kind == "question":
        wait["question"] = {"text": "Well?", "schema": {"type": "object"}, "role": None}
    return wait | ({"event": "paid", "key": "7"} if kind == "event" else {})


@pytest.mark.parametrize("first", ["answer", "timeout"])
def test_an_answer_and_the_end_of_its_time_decide_once(
    store: Store, stage: Stage, clock: Clock, first: str
) -> None:
    worker, job = waiting(store, "question", within=60)
    clock.advance(timedelta(seconds=61))
    promote(store)
    claimed = worker.claim_one()
    set_back(stage.sql, timedelta(seconds=2))  # the clock that the answer reads is still before it
    a, b = stage.session(), stage.session()
    answer = step_calls.answer(job, YES)
    look = step_calls.await_step(worker.id, job, claimed.token, asked("question", 60))
    if first == "answer":
        a(answer)
        clock.advance(timedelta(seconds=2))
        seen = stage.waits(b, look)
        a.commit()
        assert seen.result().state == "arrived"
    else:
        clock.advance(timedelta(seconds=2))
        assert b(look).state == "timeout"
        set_back(stage.sql, timedelta(seconds=2))
        late = stage.waits(a, answer)
        b.commit()
        with pytest.raises(IllegalTransition, match="is late"):
            late.result()


@pytest.mark.parametrize("first", ["answer", "cancel"])
def test_an_answer_and_a_cancel(store: Store, stage: Stage, first: str) -> None:
    _, job = waiting(store, "question")
    a, b = stage.session(), stage.session()
    answer, cancel = step_calls.answer(job, YES), control_calls.stop(job)
    if first == "answer":
        a(answer)
        stopped = stage.waits(b, cancel)
        a.commit()
        stopped.result()
        b.commit()
        assert store.steps(job)[0].status == "done"
    else:
        b(cancel)
        late = stage.waits(a, answer)
        b.commit()
        with pytest.raises(IllegalTransition, match="which is cancelled"):
            late.result()
    promote(store)
    assert store.show(job).state is State.CANCELLED


def test_two_answers_at_once(store: Store, stage: Stage) -> None:
    _, job = waiting(store, "question")
    a, b = stage.session(), stage.session()
    a(step_calls.answer(job, YES, by="ada"))
    second = stage.waits(b, step_calls.answer(job, YES))
    a.commit()
    with pytest.raises(IllegalTransition, match="was answered by ada"):
        second.result()


@pytest.mark.parametrize("first", ["publish", "wait"])
def test_an_event_and_a_wait_that_do_not_see_each_other(
    store: Store, stage: Stage, first: str
) -> None:
    worker, job = running(store)
    a, b = stage.session(), stage.session()
    a(step_calls.publish("paid", "7", "5"))
    seen = b(step_calls.await_step(worker.id, job.id, job.token, asked("event")))
    assert seen.state == "open"
    one, other = (a, b) if first == "publish" else (b, a)
    one.commit()
    promote(store)
    other.commit()
    worker.finish(job, "released", until="event")
    promote(store)
    claimed = worker.claim_one()
    assert wait(worker, claimed, "event").value == 5


def test_an_event_that_is_committed_after_the_job_waits(store: Store, stage: Stage) -> None:
    worker, job = running(store)
    a = stage.session()
    a(step_calls.publish("paid", "7", "5"))
    assert wait(worker, job, "event").state == "open"
    worker.finish(job, "released", until="event")
    promote(store)
    assert stage.waiting(job.id) == "event"
    a.commit()
    promote(store)
    assert stage.is_ready(job.id)


def test_an_answer_while_the_slot_is_given_back(store: Store, stage: Stage) -> None:
    worker, job = running(store)
    assert wait(worker, job, "question").state == "open"
    finishing, a = stage.session(), stage.session()
    stage.stop_before("release_holds", finishing)
    finish = stage.waits(
        finishing, worker_calls.finish(worker.id, [ending(job, "released", until="answer")])
    )
    answered = stage.waits(a, step_calls.answer(job.id, YES))
    promote(store)
    stage.go_on()
    finish.result()
    finishing.commit()
    answered.result()
    a.commit()
    promote(store)
    assert stage.is_ready(job.id)


@pytest.mark.parametrize("first", ["step", "recover"])
def test_a_step_and_a_recovery(store: Store, stage: Stage, clock: Clock, first: str) -> None:
    make_job(store)
    worker = make_worker(store, timedelta(seconds=20))
    promote(store)
    job = worker.claim_one()
    a, b = stage.session(), stage.session()
    report = worker_calls.report(
        worker.id, [Report(job=job.id, token=job.token, steps=[step("plan")])]
    )
    if first == "step":
        a(report)
        clock.advance(timedelta(seconds=60))
        store.sweep()
        b(upkeep.recover())
        a.commit()
        b.commit()
        store.recover()
        assert [each.name for each in store.steps(job.id)] == ["plan"]
    else:
        clock.advance(timedelta(seconds=60))
        store.sweep()
        b(upkeep.recover())
        assert a(report).accepted == ()
        b.commit()
        assert store.steps(job.id) == ()
    promote(store)
    assert stage.is_ready(job.id)


def test_two_workers_promote_an_event_once(store: Store, stage: Stage) -> None:
    _, job = waiting(store, "event")
    store.publish("paid", "7", "5")
    a, b = stage.session(), stage.session()
    a(enqueue_calls.promote())
    b(enqueue_calls.promote())
    a.commit()
    b.commit()
    promote(store)
    assert stage.is_ready(job)
