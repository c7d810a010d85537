"""Webhooks end to end: real workers, a real receiver, and the reference check of signatures."""

import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from standardwebhooks import WebhookVerificationError

from tenure import Tenant
from tenure.domain.lifecycle import State
from tenure.store import schema
from tenure.store.store import Store
from tests.apps import webhooks
from tests.factories import make_job
from tests.receiver import Receiver, receiver
from tests.system.stage import Stage, staged
from tests.workers import eventually, running_worker

HOSTS = {"TENURE_WEBHOOK_HOSTS": "127.0.0.1"}
APP = "tests.apps.webhooks:app"


@pytest.fixture(scope="module")
def stage(shared_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("worker")
    with staged(webhooks.app, shared_database, folder, "webhooks", **HOSTS) as stage:
        yield stage


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with receiver() as found:
        yield found


def secret_of(store: Store, hook: Receiver, name: str = "hook") -> str:
    secret = store.set_webhook(name, hook.url).new_secret
    assert secret is not None
    return secret


def test_ends_pauses_questions_and_stops_arrive_signed(stage: Stage, hook: Receiver) -> None:
    store = stage.store
    secret = secret_of(store, hook)
    try:
        done, failed = webhooks.work.enqueue(7).id, webhooks.fails.enqueue().id
        paused, asked = webhooks.pauses.enqueue().id, webhooks.asks.enqueue().id
        slept = webhooks.sleeps.enqueue()
        stage.watch.becomes(slept.id, State.RUNNING)
        slept.cancel(reason="enough")
        wanted = {
            done: ["job.completed"],
            failed: ["job.failed"],
            paused: ["job.paused"],
            asked: ["job.question"],
            slept.id: ["job.cancelled", "stop.closed"],
        }
        for job, events in wanted.items():
            eventually(lambda: sorted(hook.events(job)) == events, f"{events} of {job}")  # noqa: B023
        bodies = [received.verify(secret) for received in hook.received]
        assert {body["data"]["job_id"] for body in bodies} == set(wanted)  # type: ignore[index]
        assert len({received.headers["webhook-id"] for received in hook.received}) == 6
        with pytest.raises(WebhookVerificationError):
            hook.received[0]._replace(body=hook.received[0].body + b" ").verify(secret)
        eventually(lambda: store.webhooks()[0].pending == 0, "all is recorded")
    finally:
        store.drop_webhook("hook")


def test_a_job_that_ends_is_told_within_a_second(stage: Stage, hook: Receiver) -> None:
    secret_of(stage.store, hook)
    try:
        job = webhooks.work.enqueue().id
        stage.watch.becomes(job, State.COMPLETED)
        ended = time.monotonic()
        eventually(lambda: hook.events(job), "it is told")
        assert time.monotonic() - ended < 1.5
    finally:
        stage.store.drop_webhook("hook")


def test_both_secrets_are_good_while_one_is_rotated(stage: Stage, hook: Receiver) -> None:
    store = stage.store
    first = secret_of(store, hook)
    second = str(store.rotate_webhook("hook", timedelta(hours=1)).new_secret)
    try:
        store.test_webhook("hook")
        [received] = eventually(lambda: hook.received[:], "the test arrives")
        assert received.verify(first) == received.verify(second)
        store.rotate_webhook("hook", timedelta(0))
        store.test_webhook("hook")
        eventually(lambda: len(hook.received) == 2, "the second one arrives")
        with pytest.raises(WebhookVerificationError):
            hook.received[1].verify(second)
    finally:
        store.drop_webhook("hook")


def test_a_slow_receiver_delays_no_other_and_no_job(stage: Stage, hook: Receiver) -> None:
    store = stage.store
    hook.hold = threading.Event()
    with receiver() as other:
        secret_of(store, hook)
        secret_of(store, other, "other")
        try:
            jobs = [webhooks.work.enqueue(n).id for n in range(40)]
            for job in jobs:
                stage.watch.becomes(job, State.COMPLETED)
            eventually(lambda: len(other.events()) == 40, "the other receiver has all")
            assert len(hook.received) <= 16, "no more at once than a worker takes"
            hook.hold.set()
            eventually(lambda: len(hook.events()) >= 40, "and then this one")
            assert {json["webhook-id"] for _, json, _ in hook.received}.isdisjoint(
                {json["webhook-id"] for _, json, _ in other.received}
            )
        finally:
            store.drop_webhook("hook")
            store.drop_webhook("other")


def test_a_delivery_that_takes_long_holds_up_no_other(stage: Stage, hook: Receiver) -> None:
    secret_of(stage.store, hook)
    hook.hold, hook.held = threading.Event(), "job.failed"
    try:
        webhooks.fails.enqueue()
        eventually(lambda: hook.events() == ["job.failed"], "it is sent")
        began = time.monotonic()
        webhooks.work.enqueue_many([{"n": n} for n in range(100)])
        eventually(lambda: hook.events().count("job.completed") == 100, "the others arrive")
        assert time.monotonic() - began < 10, "before the first one is given up"
    finally:
        hook.hold.set()
        stage.store.drop_webhook("hook")


def test_a_receiver_inside_that_nobody_allowed_gets_nothing(stage: Stage) -> None:
    store = stage.store
    store.set_webhook("inside", "https://169.254.169.254/latest/meta-data")
    try:
        store.test_webhook("inside")
        tried = eventually(lambda: store.deliveries("inside")[0].error, "it is refused")
        assert "169.254.169.254 is a private address" in str(tried)
    finally:
        store.drop_webhook("inside")


@pytest.mark.fresh_database  # else the worker of the others may be the sender
def test_a_sender_that_is_killed_before_it_records_loses_nothing(
    database: str, store: Store, sql: psycopg.Connection, hook: Receiver, tmp_path: Path
) -> None:
    store.set_webhook("hook", hook.url, ["job.cancelled"])
    hook.hold = threading.Event()
    job = make_job(store, webhooks.work.name)
    store.stop(job)
    with running_worker(database, tmp_path, app=APP, settings=HOSTS) as worker:
        eventually(lambda: hook.received, "the worker has sent it")
        worker.process.kill()
        worker.process.wait()
    assert [each.state for each in store.deliveries("hook")] == ["pending"]
    hook.hold.set()
    # Other workers leave it alone for a minute.
    sql.execute("UPDATE tenure.delivery SET due_at = tenure.now()")
    with running_worker(database, tmp_path, app=APP, settings=HOSTS):
        eventually(lambda: store.deliveries("hook")[0].state == "delivered", "the next one")
    assert hook.events(job) == ["job.cancelled", "job.cancelled"]
    assert len({each.headers["webhook-id"] for each in hook.received}) == 1


@pytest.mark.fresh_database
def test_a_tenant_is_told_of_its_own_jobs_alone(
    database: str, store: Store, sql: psycopg.Connection, hook: Receiver, tmp_path: Path
) -> None:
    schema.migrate(sql, Tenant("acme"))
    acme = store.of(Tenant("acme"))
    secret = secret_of(acme, hook)
    assert store.webhooks() == ()
    theirs = make_job(acme, webhooks.work.name)
    make_job(store, webhooks.work.name)
    with running_worker(database, tmp_path, "--all-tenants", app=APP, settings=HOSTS):
        eventually(lambda: hook.received, "it is told")
        eventually(lambda: store.list_jobs({"state": "completed"}), "the other job ends")
        [received] = hook.received
        data = received.verify(secret)["data"]
        assert (data["tenant"], data["job_id"]) == ("acme", theirs)  # type: ignore[index]
