"""Webhooks in the database: what is written for whom, taken by whom, tried again when."""

from datetime import timedelta
from typing import Any

import psycopg
import pytest

from tenure.domain.lifecycle import Intent, State
from tenure.errors import IllegalTransition, InputRefused, NotFound
from tenure.store.store import Store
from tenure.store.webhook_results import AttemptedDelivery, Delivery
from tenure.testing import Clock
from tests.factories import make_job, make_job_in, make_worker, promote

URL = "https://hooks.example.org/in"
QUESTION: dict[str, Any] = {"text": "Well?", "schema": {}, "role": None}


def told(store: Store, name: str = "hook") -> list[tuple[str, int | None]]:
    """Return the events and jobs that a webhook is told, in their order."""
    found = store.deliveries(name, n=1000)
    return [(delivery.event, delivery.job_id) for delivery in reversed(found)]


def attempt(store: Store, **outcome: Any) -> Delivery:
    """Take one delivery of the webhook, and record what came of it."""
    [taken] = store.take_deliveries("hook", 1)
    store.record_deliveries("hook", [AttemptedDelivery(taken.id, taken.attempt, **outcome)])
    [delivery] = store.deliveries("hook", below=taken.id + 1, n=1)
    return delivery


@pytest.mark.parametrize("state", [s for s in State if s.value not in ("pending", "running")])
def test_every_end_and_every_pause_is_told_once_with_its_transaction(
    store: Store, state: State
) -> None:
    store.set_webhook("hook", URL)
    job = make_job_in(store, state)
    promote(store)
    stopped = [("stop.closed", job)] if state in (State.CANCELLED, State.PAUSED) else []
    assert told(store) == [(f"job.{state.value}", job), *stopped]
    body = store.deliveries("hook")[-1].body
    assert body["type"] == f"job.{state.value}"
    assert (body["data"]["job_id"], body["data"]["task"]) == (job, "work")
    match state:
        case State.COMPLETED:
            assert body["data"]["result"] == {"answer": 42}
        case State.FAILED:
            assert body["data"]["error"] == {"type": "ValueError", "message": "no"}


def test_nothing_is_told_of_what_is_rolled_back(store: Store, sql: psycopg.Connection) -> None:
    store.set_webhook("hook", URL)
    job = make_job(store)
    with sql.transaction(force_rollback=True):
        sql.execute("SELECT tenure.stop(%s)", (job,))
        assert sql.execute("SELECT count(*) FROM tenure.delivery").fetchone() == (2,)
    assert told(store) == []


def test_jobs_that_end_without_running_are_told_too(store: Store) -> None:
    store.set_webhook("hook", URL)
    parent = make_job(store)
    child = make_job(store, parent=parent)
    store.stop(parent)
    assert sorted(told(store), key=str) == sorted(
        [("job.cancelled", parent), ("job.cancelled", child), ("stop.closed", parent)], key=str
    )


def test_a_question_is_told_when_it_is_asked_and_not_again(store: Store) -> None:
    store.set_webhook("hook", URL, ["job.question"])
    job = make_job(store)
    worker = make_worker(store, timedelta(hours=1))
    wait: dict[str, Any] = {"name": "ask", "digest": "d", "kind": "question", "question": QUESTION}
    for _ in range(2):
        claimed = worker.claim_one()
        store.await_step(worker.id, job, claimed.token, wait)
        worker.finish(claimed, "released", until="answer")
        assert told(store) == [("job.question", job)]
        store.stop(job, intent=Intent.PAUSE)
        store.resume(job)
        promote(store)
    question = store.deliveries("hook")[0].body["data"]["question"]
    assert (question["name"], question["text"]) == ("ask", "Well?")


def test_filters_choose_events_and_tasks(store: Store) -> None:
    store.set_webhook("failures", URL, ["job.failed"])
    store.set_webhook("mail", URL, tasks=["mail"])
    work, mail = make_job(store), make_job(store, "mail")
    store.stop(work)
    store.stop(mail)
    assert told(store, "failures") == []
    assert told(store, "mail") == [("job.cancelled", mail), ("stop.closed", mail)]


@pytest.mark.parametrize("ends", [{"value": "x" * 20_000}, {"stored": "tenure/result.json"}])
def test_a_large_result_is_left_out(store: Store, ends: dict[str, Any]) -> None:
    store.set_webhook("hook", URL)
    job = make_job(store)
    worker = make_worker(store)
    worker.finish(worker.claim_one(), **ends)
    data = store.deliveries("hook")[0].body["data"]
    assert (data["job_id"], data["result"], data["result_omitted"]) == (job, None, True)


def test_a_secret_is_shown_when_it_is_made_and_never_again(
    store: Store, sql: psycopg.Connection
) -> None:
    made = store.set_webhook("hook", URL)
    assert made.new_secret is not None
    assert made.new_secret.startswith("whsec_")
    again = store.set_webhook("hook", URL + "/2")
    rotated = store.rotate_webhook("hook")
    assert again.new_secret is None
    assert rotated.new_secret not in (None, made.new_secret)
    shown = repr([store.webhooks(), store.audit_log(), again])
    assert made.new_secret not in shown
    assert str(rotated.new_secret) not in shown
    assert [row.verb for row in store.audit_log("webhook")] == ["rotate", "set", "set"]


def test_while_a_secret_is_rotated_both_sign(store: Store, clock: Clock) -> None:
    first = store.set_webhook("hook", URL).new_secret
    second = store.rotate_webhook("hook", timedelta(hours=1)).new_secret
    store.test_webhook("hook")
    assert store.take_deliveries("hook")[0].secrets == (second, first)
    clock.advance(timedelta(minutes=61))
    assert store.take_deliveries("hook")[0].secrets == (second,)


def test_a_delivery_is_taken_once_and_again_if_nobody_records_it(
    store: Store, clock: Clock
) -> None:
    store.set_webhook("hook", URL)
    made = store.test_webhook("hook")
    [first] = store.take_deliveries("hook")
    assert (first.message, first.attempt) == (made.message, 1)
    assert store.take_deliveries("hook") == ()
    assert store.due_webhooks().next_due == pytest.approx(60, abs=1)
    clock.advance(timedelta(seconds=61))
    [second] = store.take_deliveries("hook")
    assert (second.message, second.attempt) == (made.message, 2)
    # The first sender comes back: a failure of it counts no more, a success does.
    store.record_deliveries("hook", [AttemptedDelivery(first.id, 1, None, "late")])
    assert store.deliveries("hook")[0].error is None
    store.record_deliveries("hook", [AttemptedDelivery(first.id, 1, 200)])
    assert store.deliveries("hook")[0].state == "delivered"
    store.record_deliveries("hook", [AttemptedDelivery(second.id, 2, 500, "no")])
    assert store.deliveries("hook")[0].state == "delivered"


def test_a_failure_is_tried_again_later_and_later_and_given_up_after_three_days(
    store: Store, clock: Clock
) -> None:
    store.set_webhook("hook", URL)
    store.test_webhook("hook")
    tries, waited = 0, timedelta(0)
    while store.webhooks()[0].pending and tries < 100:
        due = store.due_webhooks()
        if not due.names:
            assert due.next_due is not None
            step = timedelta(seconds=due.next_due + 0.01)
            clock.advance(step)
            waited += step
        elif store.deliveries("hook")[0].attempts and waited > timedelta(days=3):
            assert store.take_deliveries("hook") == ()
        else:
            attempt(store, status=500, error="the receiver answered 500")
            tries += 1
    [delivery] = store.deliveries("hook")
    assert delivery.state == "given_up"
    assert delivery.error == "the receiver answered 500; given up after three days"
    assert 30 <= tries <= 60
    assert store.webhooks()[0].failing_since is not None
    assert store.redeliver("hook") == {"deliveries": 1}
    assert attempt(store, status=204).state == "delivered"
    assert store.webhooks()[0].failing_since is None


def test_a_receiver_that_fails_is_asked_one_at_a_time_and_then_gets_the_rest(
    store: Store, clock: Clock
) -> None:
    store.set_webhook("hook", URL, ["job.cancelled"])
    for _ in range(5):
        store.stop(make_job(store))
    attempt(store, error="refused")
    assert store.take_deliveries("hook") == ()
    clock.advance(timedelta(seconds=2.1))
    assert len(store.take_deliveries("hook")) == 1
    clock.advance(timedelta(seconds=61))
    attempt(store, status=200)
    assert len(store.take_deliveries("hook")) == 4


def test_a_receiver_may_ask_to_be_left_alone(store: Store) -> None:
    store.set_webhook("hook", URL)
    store.test_webhook("hook")
    attempt(store, status=429, error="the receiver answered 429", wait=600.0)
    assert store.due_webhooks().next_due == pytest.approx(600, abs=1)


def test_a_receiver_that_is_gone_gets_nothing_more_until_it_is_set_again(store: Store) -> None:
    store.set_webhook("hook", URL)
    store.test_webhook("hook")
    store.test_webhook("hook")
    attempt(store, status=410, error="the receiver answered 410")
    assert store.webhooks()[0].disabled == "its receiver answered 410 Gone"
    assert [delivery.state for delivery in store.deliveries("hook")] == ["given_up"] * 2
    store.stop(make_job(store))
    assert len(store.deliveries("hook")) == 2
    with pytest.raises(IllegalTransition, match="webhook hook is disabled: its receiver"):
        store.test_webhook("hook")
    store.set_webhook("hook", URL)
    assert store.redeliver("hook") == {"deliveries": 2}


@pytest.mark.parametrize(
    "url",
    [
        *("ftp://example.org", "file:///etc/passwd", "gopher://example.org", "example.org", ""),
        *("https://user@example.org/", "https://user:secret@example.org/", "https://a\\@b.org/"),
        *("https://example.org/a b", "https://example.org/\r\nx: y", "https://exämple.org/"),
        *("https://example.org/#part", "HTTPS://example.org", "https://" + "a" * 2000),
    ],
)
def test_a_url_that_is_none_is_refused(store: Store, url: str) -> None:
    with pytest.raises(InputRefused, match="the URL of a webhook begins with https://"):
        store.set_webhook("hook", url)


def test_other_bad_input_is_refused_with_a_sentence(store: Store) -> None:
    for name in ("", "a/b", "a b", "x" * 101):
        with pytest.raises(InputRefused, match="a webhook has a name"):
            store.set_webhook(name, URL)
    with pytest.raises(InputRefused, match=r"one or more of job\.completed, "):
        store.set_webhook("hook", URL, ["job.started"])
    for tasks in ([], [""], ["x" * 501], ["x"] * 101):
        with pytest.raises(InputRefused, match="for all tasks, or for 1 to 100 named ones"):
            store.set_webhook("hook", URL, tasks=tasks)
    for refused in (store.rotate_webhook, store.test_webhook, store.redeliver, store.drop_webhook):
        with pytest.raises(NotFound, match="there is no webhook 'gone'"):
            refused("gone")
    store.set_webhook("hook", URL)
    with pytest.raises(InputRefused, match="kept for 0 seconds to 30 days"):
        store.rotate_webhook("hook", timedelta(days=31))
    with pytest.raises(NotFound, match="webhook hook has no delivery 1"):
        store.redeliver("hook", 1)


def test_old_deliveries_are_pruned_and_open_ones_kept(store: Store, clock: Clock) -> None:
    store.set_webhook("hook", URL)
    store.test_webhook("hook")
    attempt(store, status=200)
    kept = store.test_webhook("hook")
    clock.advance(timedelta(days=31))
    store.prune({}, keep_events=timedelta(days=30))
    assert [delivery.id for delivery in store.deliveries("hook")] == [kept.id]
