"""runners, end_runner: in which process a job runs, and how one is ended by its id."""

from datetime import timedelta
from typing import Any

import psycopg
import pytest

from tenure.domain.job import NewJob
from tenure.errors import InputRefused, JobNotFound, NotFound
from tenure.store.results import Claimed
from tenure.store.store import Store
from tests.factories import Worker, make_job, make_jobs, make_worker

LOOP, OWN = "runner-0a1b2c3d-1", "runner-0a1b2c3d-2"


@pytest.fixture
def worker(store: Store) -> Worker:
    return make_worker(store, timedelta(hours=1))


def tell(worker: Worker, runners: dict[str, list[Claimed]], tenant: str = "default") -> Any:
    """Beat, and say which jobs run in which runners."""
    about = {
        name: {
            "tenant": tenant,
            "kind": "async",
            "pid": 7,
            "jobs": {str(job.id): job.token for job in jobs},
        }
        for name, jobs in runners.items()
    }
    return worker.store.renew(worker.id, runners=about)


def test_the_runners_of_a_job_are_those_of_all_below_it(store: Store, worker: Worker) -> None:
    ids = make_jobs(
        store,
        [
            NewJob(key="root"),
            NewJob(key="a", task="work", parent="root"),
            NewJob(key="b", task="work", parent="root"),
        ],
    )
    make_job(store)
    jobs = {job.id: job for job in worker.claim(3)}
    [other] = [job for job in jobs.values() if job.id not in ids.values()]
    a, b = jobs[ids["a"]], jobs[ids["b"]]
    assert [it.runner for it in store.runners(ids["root"])] == [None], "told at the next beat"
    tell(worker, {LOOP: [a, other], OWN: [b]})
    listed = {it.runner: (it.jobs, it.others, it.ending) for it in store.runners(ids["root"])}
    assert listed == {LOOP: ((a.id,), 1, False), OWN: ((b.id,), 0, False)}
    [only] = store.runners(b.id)
    assert (only.runner, only.worker_id, only.host, only.pid) == (OWN, worker.id, "test-host", 7)
    worker.finish(b)
    assert store.runners(b.id) == ()
    with pytest.raises(JobNotFound):
        store.runners(999)


def test_a_beat_without_runners_keeps_what_was_told(store: Store, worker: Worker) -> None:
    make_job(store)
    job = worker.claim_one()
    tell(worker, {OWN: [job]})
    store.renew(worker.id)
    assert [it.runner for it in store.runners(job.id)] == [OWN]


def test_a_runner_that_is_to_end_is_told_until_it_is_gone(store: Store, worker: Worker) -> None:
    make_job(store)
    job = worker.claim_one()
    tell(worker, {LOOP: [], OWN: [job]})
    answer = store.end_runner(OWN, reason="it leaks", by="ada", grace=timedelta(seconds=8))
    assert (answer.runner, answer.worker_id, answer.jobs) == (OWN, worker.id, (job.id,))
    assert [it.ending for it in store.runners(job.id)] == [True]
    for heard in (store.read_signals(worker.id), store.renew(worker.id)):
        [(name, order)] = heard.ending.items()
        assert (name, order.by, order.reason) == (OWN, "ada", "it leaks")
        assert (order.grace, order.force) == (8, False)
    noted = store.audit_log(n=1)[0]
    assert (noted.actor, noted.verb, noted.name, noted.reason) == (
        *("ada", "end_runner", OWN, "it leaks"),
    )
    assert noted.after["jobs"] == [job.id]
    store.end_runner(OWN, force=True)
    assert store.read_signals(worker.id).ending[OWN].force
    assert tell(worker, {LOOP: [job]}).ending == {}


@pytest.mark.parametrize("gone", ["never", "dead", "elsewhere"])
def test_a_runner_that_nobody_has_is_not_found(
    store: Store, worker: Worker, sql: psycopg.Connection, gone: str
) -> None:
    tell(worker, {} if gone == "never" else {OWN: []}, "acme" if gone == "elsewhere" else "default")
    if gone == "dead":
        sql.execute("UPDATE tenure.worker SET expires_at = beat_at, dead_at = beat_at")
    with pytest.raises(NotFound, match=f"there is no runner '{OWN}'"):
        store.end_runner(OWN)


@pytest.mark.parametrize("wrong", [{"reason": ""}, {"grace": timedelta(seconds=-1)}])
def test_what_makes_no_sense_is_refused(store: Store, wrong: dict[str, Any]) -> None:
    with pytest.raises(InputRefused):
        store.end_runner(OWN, **wrong)


@pytest.mark.parametrize(
    ("who", "role", "inside", "may"),
    [
        ("ada", "operator", ["ada"], True),
        ("ada", "operator", ["ada", "bob"], False),
        ("ada", "operator", [], False),
        ("ada", "viewer", ["ada"], False),
        ("eve", "admin", ["ada", "bob"], True),
    ],
)
def test_only_who_owns_all_jobs_in_a_runner_or_an_admin_ends_it(
    *,
    store: Store,
    worker: Worker,
    sql: psycopg.Connection,
    who: str,
    role: str,
    inside: Any,
    may: bool,
) -> None:
    for owner in ("ada", "bob"):
        make_job(store, owner=owner)
    jobs = {store.show(job.id).owner: job for job in worker.claim(2)}
    within = [jobs[owner] for owner in inside]
    tell(worker, {OWN: within, LOOP: [job for job in jobs.values() if job not in within]})
    row = sql.execute(
        "SELECT tenure.end_runner(%s, by => %s, role => %s)", (OWN, who, role)
    ).fetchone()
    assert row is not None
    assert ("jobs" in row[0]) is may
    assert (OWN in store.read_signals(worker.id).ending) is may
    assert store.audit_log(n=1)[0].verb == ("end_runner" if may else "refuse")


def test_a_job_of_another_that_began_after_the_beat_may_be_in_any_runner(
    store: Store, worker: Worker, sql: psycopg.Connection
) -> None:
    make_job(store, owner="ada")
    tell(worker, {OWN: [worker.claim_one()]})
    make_job(store, owner="bob")
    worker.claim_one()
    row = sql.execute(
        "SELECT tenure.end_runner(%s, by => 'ada', role => 'operator')", (OWN,)
    ).fetchone()
    assert row is not None
    assert "jobs" not in row[0]
    assert store.read_signals(worker.id).ending == {}
