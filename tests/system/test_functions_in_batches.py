"""Quick functions are claimed and run in batches, with the same guarantees as a single one."""

import signal
from itertools import pairwise
from pathlib import Path

import psycopg
import pytest

from tenure.domain.lifecycle import State
from tenure.store.store import Store
from tests.system.batching import Batches, step
from tests.workers import eventually

# Calls of keepers that the server executes now.
ACTIVE = """SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
    AND application_name = 'tenure keeper' AND state <> 'idle'"""


@pytest.fixture
def batches(store: Store, database: str, tmp_path: Path) -> Batches:
    return Batches(store, database, tmp_path)


def test_functions_queued_behind_a_long_one_are_released_and_run_on_another_worker(
    batches: Batches,
) -> None:
    with batches.worker() as first:
        batches.warm_up()
        long, *others = batches.enqueue("hold", *[""] * 20)
        batches.begins(long)
        eventually(lambda: batches.given_back(*others), "what has not begun is given back", 5)
        with batches.worker():
            batches.complete(*others)
        assert batches.store.show(long).state is State.RUNNING
        (batches.folder / "go").touch()
        batches.complete(long)
        assert [len(batches.began(job)) for job in others] == [1] * 20
        assert first.drain() == 0


def test_a_long_function_does_not_wait_behind_another_while_a_worker_is_idle(
    batches: Batches,
) -> None:
    with batches.worker(), batches.worker():
        batches.warm_up()
        jobs = batches.enqueue("hold", "hold")
        for job in jobs:
            batches.begins(job, 5)
        (batches.folder / "go").touch()
        batches.complete(*jobs)
        assert [len(batches.began(job)) for job in jobs] == [1, 1]


def test_a_function_that_kills_its_process_is_charged_and_none_beside_it_runs_twice(
    batches: Batches,
) -> None:
    with batches.worker():
        batches.warm_up()
        jobs = batches.enqueue(*[""] * 15, "die", *[""] * 15)
        culprit = jobs.pop(15)
        batches.watch.becomes(culprit, State.FAILED)
        batches.complete(*jobs)
        assert [len(batches.began(job)) for job in (*jobs, culprit)] == [1] * 31
        shown = [batches.store.show(job) for job in jobs]
        assert {(job.attempt, job.crashes, len(job.attempts)) for job in shown} == {(1, 0, 0)}


def test_each_function_has_its_own_output_and_nobody_elses(batches: Batches) -> None:
    with batches.worker():
        batches.warm_up()
        jobs = batches.enqueue(*["print", ""] * 10)
        batches.complete(*jobs)
    for job, prints in zip(jobs, [True, False] * 10, strict=True):
        lines = [line["line"] for line in batches.store.job_output(job, "logs")]
        said = "".join(lines)
        assert said.count("says") == (2 if prints else 0), lines
        assert said.count(f"{job} says") == (2 if prints else 0), lines


def test_a_function_starts_when_it_begins_not_when_it_is_claimed(
    batches: Batches, sql: psycopg.Connection
) -> None:
    with batches.worker():
        batches.warm_up()
        jobs = batches.enqueue(*["nap"] * 15)
        batches.complete(*jobs)
    rows = "SELECT id, extract(epoch FROM started_at), extract(epoch FROM ended_at) FROM tenure.job"
    times = {job: (float(start), float(end)) for job, start, end in sql.execute(rows).fetchall()}
    late = [batches.began(job)[0][0] - times[job][0] for job in jobs]
    assert max(late) < 0.05, "as recorded, it started before it began"
    assert batches.began(jobs[-1])[0][0] - batches.began(jobs[0])[0][0] > 0.1


def test_no_process_has_more_functions_than_the_settings_allow(batches: Batches) -> None:
    with batches.worker(TENURE_RECYCLE_AFTER="7"):
        batches.warm_up()
        jobs = batches.enqueue(*[""] * 30)
        batches.complete(*jobs)
    pids = [batches.began(job)[0][1] for job in jobs]
    assert max(pids.count(pid) for pid in pids) <= 7
    assert [len(batches.began(job)) for job in jobs] == [1] * 30


def test_no_function_runs_in_a_process_where_another_has_left_a_thread(batches: Batches) -> None:
    with batches.worker():
        batches.warm_up()
        before, leaves, *behind = batches.enqueue("", "thread", *[""] * 10)
        batches.complete(before, leaves, *behind)
    left_in = batches.began(leaves)[0][1]
    assert left_in not in [batches.began(job)[0][1] for job in behind]
    assert {batches.store.show(job).attempt for job in behind} == {1}


def test_a_draining_worker_gives_back_what_waits_behind_a_long_function(batches: Batches) -> None:
    with batches.worker() as worker:
        batches.warm_up()
        long, *others = batches.enqueue("hold", *[""] * 10)
        batches.begins(long)
        worker.signal(signal.SIGTERM)
        eventually(lambda: batches.given_back(*others), "what has not begun is given back", 5)
        assert worker.process.poll() is None
        (batches.folder / "go").touch()
        assert worker.ends() == 0
    assert batches.store.show(long).state is State.COMPLETED
    assert [len(batches.began(job)) for job in others] == [0] * 10


def test_a_long_function_goes_to_a_worker_that_is_idle_by_now(
    batches: Batches, sql: psycopg.Connection
) -> None:
    """Both are claimed by the only worker that can, and the other is idle a moment later."""
    patient = {"TENURE_LEASE": "60s"}
    with batches.worker(**patient) as busy:
        batches.warm_up()
        with batches.worker(**patient) as other:
            # A claim under way would be served although its worker is stopped.
            idle = "SELECT count(*) FROM tenure.worker WHERE idle AND left_at IS NULL"
            eventually(lambda: sql.execute(idle).fetchone() == (2,), "both have asked for jobs")
            other.signal(signal.SIGSTOP)  # it cannot claim either
            eventually(lambda: sql.execute(ACTIVE).fetchone() == (0,), "no call is under way")
            first, second = batches.enqueue("minute", "minute")
            batches.begins(first)
            other.signal(signal.SIGCONT)
            batches.begins(second)
            [[_, at]] = batches.began(second)
            assert at in [runner.pid for runner in other.runners]
            assert batches.began(first)[0][1] in [runner.pid for runner in busy.runners]
            rows = "SELECT count(DISTINCT worker_id) FROM tenure.job WHERE state = 'running'"
            assert sql.execute(rows).fetchone() == (2,)


def test_a_function_that_kills_its_process_started_when_it_began(
    batches: Batches, sql: psycopg.Connection
) -> None:
    with batches.worker():
        batches.warm_up()
        *_, culprit = batches.enqueue(*["nap"] * 15, "die")
        batches.watch.becomes(culprit, State.FAILED)
    rows = "SELECT extract(epoch FROM started_at) FROM tenure.job WHERE id = %s"
    [start] = sql.execute(rows, (culprit,)).fetchone() or [0]
    [[began, _]] = batches.began(culprit)
    assert abs(began - float(start)) < 0.05


def test_a_higher_priority_takes_the_process_from_the_function_that_runs(batches: Batches) -> None:
    with batches.worker(TENURE_PREEMPT="default"):
        batches.warm_up()
        long, *others = batches.enqueue("hold", *[""] * 10)
        batches.begins(long)
        [high] = batches.enqueue("", priority=5)
        batches.complete(high)
        (batches.folder / "go").touch()
        batches.complete(long, *others)
    assert batches.began(high)[0][0] < batches.began(long)[1][0]
    assert [len(batches.began(job)) for job in (long, high, *others)] == [2, *[1] * 11]
    assert {batches.store.show(job).attempt for job in (long, high, *others)} == {1}


def test_what_is_given_back_holds_neither_a_target_nor_a_slot(batches: Batches) -> None:
    batches.store.create_pool("desks", slots=["one", "two", "three"])
    with batches.worker():
        batches.warm_up()
        shared = [
            step("", target="site"),
            step("", target="site"),
            *[step("", pools=["desks"])] * 6,
        ]
        long, *others = batches.enqueue_jobs(step("hold"), *shared)
        batches.begins(long)
        with batches.worker():
            batches.complete(*others)
        assert batches.store.show(long).state is State.RUNNING
    assert [len(batches.began(job)) for job in others] == [1] * 8


def test_functions_of_one_target_run_one_after_the_other(batches: Batches) -> None:
    with batches.worker(TENURE_PROCESSES="2"):
        batches.warm_up()
        jobs = batches.enqueue_jobs(*[step("nap", target="site"), step()] * 10)
        batches.complete(*jobs)
    began = sorted(batches.began(job)[0][0] for job in jobs[::2])
    assert min(later - earlier for earlier, later in pairwise(began)) >= 0.01


def test_a_worker_that_was_frozen_runs_none_of_the_jobs_that_others_have_recovered(
    batches: Batches, sql: psycopg.Connection
) -> None:
    with batches.worker() as lost:
        batches.warm_up()
        long, *others = batches.enqueue("hold", "", "")
        batches.begins(long)
        lost.signal(signal.SIGSTOP)
        with batches.worker():
            dead = "SELECT count(*) FROM tenure.worker WHERE dead_at IS NOT NULL"
            eventually(lambda: sql.execute(dead).fetchone() == (1,), "it is declared dead")
            (batches.folder / "go").touch()
            batches.complete(long, *others)
            lost.signal(signal.SIGCONT)
            lost.says("was declared dead: what it ran is killed")
    assert [len(batches.began(job)) for job in others] == [1, 1]
