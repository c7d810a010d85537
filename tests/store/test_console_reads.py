"""The reads of the console: run times of tasks, pauses with their reasons, leaks."""

import psycopg
import pytest

from tenure.domain.job import NewJob
from tenure.errors import InputRefused
from tenure.store.calls import control_calls, diagnosis, queries, task_calls
from tenure.store.store import Store
from tests.factories import make_job, make_worker, promote


@pytest.fixture
def ended(store: Store, database: str) -> Store:
    """Three jobs of `pay` ran for a second, a minute and an hour; the last failed. `mail` waits."""
    worker = make_worker(store)
    for _ in range(3):
        make_job(store, "pay", max_attempts=1)
    make_job(store, None)
    promote(store)
    for n, job in enumerate(worker.claim(3)):
        worker.finish(job, "failed" if n == 2 else "completed")
    for name in ("pay", "mail"):
        make_job(store, name)
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(
            "UPDATE tenure.job SET started_at = ended_at - 60 ^ (id - 1) * interval '1 second' "
            "WHERE ended_at IS NOT NULL AND started_at IS NOT NULL"
        )
    return store


def test_the_jobs_of_each_task_are_counted(ended: Store) -> None:
    mail, pay = ended.send(task_calls.task_runs())
    assert (mail.task, mail.jobs, mail.runs, mail.failure_rate) == ("mail", 1, (), None)
    assert mail.run_time(0.5) is None
    assert (pay.task, pay.jobs, pay.completed, pay.failed) == ("pay", 4, 2, 1)
    assert pay.failure_rate == pytest.approx(1 / 3)
    assert [n for _, n in pay.runs] == [1, 1, 1]
    for share, seconds in ((0.1, 1), (0.5, 60), (0.95, 3600)):
        assert pay.run_time(share) == pytest.approx(seconds, rel=0.1)


def test_only_the_newest_are_counted_of_all_or_of_one_task(ended: Store) -> None:
    [mail] = ended.send(task_calls.task_runs(n=1))
    assert mail.task == "mail"
    [pay] = ended.send(task_calls.task_runs("pay", 2))
    assert (pay.jobs, pay.failed, pay.completed) == (2, 1, 0)
    assert ended.send(task_calls.task_runs("nobody's")) == ()
    for n in (0, 100_001):
        with pytest.raises(InputRefused, match=f"{n} jobs cannot be counted; 1 to 100000 can"):
            ended.send(task_calls.task_runs(n=n))


def test_a_pause_says_who_paused_and_why(store: Store) -> None:
    store.send(control_calls.pause_dispatch("queue", "mail", reason="storm", by="ann"))
    store.send(control_calls.pause_dispatch("tenant"))
    queue, tenant = store.send(queries.pauses())
    assert (queue.subject, queue.name, queue.reason) == ("queue", "mail", "storm")
    assert queue.paused_by == "ann"
    assert (tenant.subject, tenant.name, tenant.reason) == ("tenant", "", None)


def test_a_paused_schedule_enqueues_nothing(store: Store) -> None:
    def fire(name: str, key: str) -> int:
        job = NewJob(task="report")
        return len(store.enqueue_reserved(job, idempotency=key, by=f"schedule:{name}"))

    assert fire("nightly", "a") == 1
    store.send(control_calls.pause_dispatch("schedule", "nightly", reason="holidays"))
    assert fire("nightly", "b") == 0
    assert fire("daily", "c") == 1, "another schedule continues"
    store.send(control_calls.resume_dispatch("schedule", "nightly"))
    assert fire("nightly", "d") == 1
    assert len(store.list_jobs({"owner": "schedule:nightly"})) == 2


def test_a_leak_names_the_resources_that_are_still_open(store: Store) -> None:
    worker = make_worker(store)
    cleanups: tuple[dict[str, object], ...] = (
        {"failed": [{"name": "browser", "error": "it does not answer"}]},
        {"failed": []},
        {},
    )
    for _ in cleanups:
        make_job(store, "crawl", owner="ann")
    promote(store)
    for job, cleanup in zip(worker.claim(3), cleanups, strict=True):
        worker.finish(job, cleanup=cleanup)
    [leak] = store.send(diagnosis.leaks())
    assert (leak.job_id, leak.task, leak.owner) == (1, "crawl", "ann")
    assert leak.resources == ({"name": "browser", "error": "it does not answer"},)
