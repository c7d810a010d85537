"""All verbs at once over a few shared jobs, targets and trees: nobody deadlocks, and what is left
behind makes sense."""

import random
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from itertools import combinations_with_replacement
from typing import Any

import psycopg
import pytest

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import Intent, Rung, State
from tenure.errors import InputRefused, JobNotFound
from tenure.store.call import Call
from tenure.store.calls import control_calls, enqueue_calls, upkeep, worker_calls
from tenure.store.drivers import send_on
from tenure.store.outcomes import Ending, Report
from tenure.store.store import Store
from tests.factories import Worker, make_worker

BUDGET = timedelta(seconds=10)
THREADS = 4

INVARIANTS = {
    "a running job has a living worker": """
        SELECT j.id FROM tenure.job AS j LEFT JOIN tenure.worker AS w ON w.id = j.worker_id
        WHERE j.state = 'running' AND (w.id IS NULL OR w.dead_at IS NOT NULL)""",
    "a target has one holder": """
        SELECT target FROM tenure.job WHERE holds OR (target IS NOT NULL AND state = 'running')
        GROUP BY target HAVING count(*) > 1""",
    "a free target has nobody in its line": """
        SELECT j.id FROM tenure.job AS j WHERE j.waiting = 'target' AND NOT EXISTS (
            SELECT FROM tenure.job AS b WHERE b.target = j.target AND b.blocks)
        AND NOT EXISTS (SELECT FROM tenure.pause AS p
            WHERE p.subject = 'target' AND p.name = j.target)""",
    "nothing is left to be looked at": "SELECT id FROM tenure.job WHERE waiting = 'promotion'",
    "a job that waits for dependencies has one that is not met": """
        SELECT j.id FROM tenure.job AS j WHERE j.waiting = 'dependencies' AND NOT EXISTS (
            SELECT FROM tenure.edge AS e JOIN tenure.job AS n ON n.id = e.needs_id
            WHERE e.job_id = j.id AND n.state <> 'completed')""",
    "a job that waits for children has one below it that is open": """
        SELECT j.id FROM tenure.job AS j WHERE j.waiting IN ('tasks', 'children')
        AND EXISTS (SELECT FROM tenure.job AS c WHERE c.parent_id = j.id) AND NOT EXISTS (
            WITH RECURSIVE below AS (
                SELECT c.id, c.state FROM tenure.job AS c WHERE c.parent_id = j.id
                UNION SELECT c.id, c.state
                FROM below JOIN tenure.job AS c ON c.parent_id = below.id)
            SELECT FROM below WHERE state IN ('pending', 'running', 'paused'))""",
    "nothing is ready or running below a cancelled job": """
        WITH RECURSIVE below AS (
            SELECT c.id, c.state, c.ready, c.stop_id FROM tenure.job AS c
            JOIN tenure.job AS p ON p.id = c.parent_id WHERE p.state = 'cancelled'
            UNION SELECT c.id, c.state, c.ready, c.stop_id
            FROM below JOIN tenure.job AS c ON c.parent_id = below.id)
        SELECT id FROM below WHERE ready OR (state = 'running' AND stop_id IS NULL)""",
    "an open record has a member that runs, or waits for one": """
        SELECT c.id FROM tenure.cancellation AS c WHERE c.completed_at IS NULL AND NOT EXISTS (
            SELECT FROM tenure.member AS m JOIN tenure.job AS j ON j.id = m.job_id
            WHERE m.stop_id = c.id AND m.ended_at IS NULL AND j.state IN ('pending', 'running'))""",
    "a slot is held by a running job": """
        SELECT s.name FROM tenure.slot AS s LEFT JOIN tenure.job AS j ON j.id = s.job_id
        WHERE s.job_id IS NOT NULL AND j.state IS DISTINCT FROM 'running'""",
    "a signal is about a running job": """
        SELECT s.id FROM tenure.signal AS s LEFT JOIN tenure.job AS j ON j.id = s.job_id
        WHERE j.state IS DISTINCT FROM 'running'""",
    "an edge leads to a job": """
        SELECT e.job_id FROM tenure.edge AS e WHERE NOT EXISTS (
            SELECT FROM tenure.job AS n WHERE n.id = e.needs_id)""",
}


class Crowd:
    """What the threads share: the trees, and what each worker believes it holds."""

    def __init__(self, store: Store, url: str, sql: psycopg.Connection) -> None:
        self.store, self.url, self.sql = store, url, sql
        self.faults: Counter[str] = Counter()
        self.done: Counter[str] = Counter()
        store.create_pool("pool", ["x", "y", "z"])
        self.trees: list[int] = []
        for _ in range(3):
            self.plant()
        self.worker: Worker = make_worker(store, timedelta(hours=1))

    def plant(self) -> None:
        """A new tree: tasks that share targets, a pool, and depend on another tree."""
        try:
            self._plant(self.trees[-1:])
        except JobNotFound:  # it was pruned
            self._plant([])

    def _plant(self, needs: list[int]) -> None:
        answers = self.store.enqueue(
            [
                NewJob(key="root"),
                NewJob(key="group", parent="root"),
                NewJob(task="a", key="a", parent="group", target="t1", max_attempts=2),
                NewJob(task="b", key="b", parent="group", after=["a", *needs], target="t2"),
                NewJob(task="c", key="c", parent="root", pools=["pool"], max_attempts=2),
                NewJob(task="d", key="d", parent="root", after=["c"], target="t1"),
            ]
        )
        self.trees = [*self.trees, min(answer.id for answer in answers)][-3:]

    def job(self) -> int:
        return random.choice(self.trees) + random.randrange(6)

    def held(self, n: int) -> list[tuple[int, int]]:
        held = [(item.job, item.token) for item in self.store.held(self.worker.id)]
        return random.sample(held, min(n, len(held)))

    def run(self, verb: Callable[["Crowd"], Call[Any]], until: float) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            for _ in range(6):
                if time.monotonic() > until:
                    return
                call = verb(self)
                try:
                    send_on(connection, call)
                    self.done[call.verb] += 1
                except InputRefused:
                    self.done[f"{call.verb} refused"] += 1
                except Exception as error:  # noqa: BLE001
                    state = getattr(error.__cause__, "sqlstate", None)
                    if state != "55P03":  # not waited for, by design; asked again by the store
                        self.faults[f"{call.verb}: {state} {error}"] += 1


def enqueue_child(crowd: Crowd) -> Call[Any]:
    if random.random() < 0.1:
        crowd.plant()
    return enqueue_calls.enqueue(
        NewJob(task="e", parent=crowd.job(), target=random.choice(["t1", "t2", None]))
    )


def claim(crowd: Crowd) -> Call[Any]:
    return worker_calls.claim(crowd.worker.id, random.randrange(1, 5))


def finish(crowd: Crowd) -> Call[Any]:
    endings = [
        Ending(
            job=job,
            token=token,
            rung=Rung.ASKED,
            outcome=random.choice(
                ["completed", "completed", "failed", "retry", "stopped", "released"]
            ),
        )
        for job, token in crowd.held(4)
    ]
    return worker_calls.finish(crowd.worker.id, endings)


def crash(crowd: Crowd) -> Call[Any]:
    endings = [Ending(job=job, token=token) for job, token in crowd.held(2)]
    return worker_calls.crash(crowd.worker.id, endings)


def report(crowd: Crowd) -> Call[Any]:
    reports = [
        Report(job=job, token=token, progress={"n": 1}, spent={"tokens": 1}, give=["pool"])
        for job, token in crowd.held(4)
    ]
    return worker_calls.report(crowd.worker.id, reports)


def renew(crowd: Crowd) -> Call[Any]:
    return worker_calls.renew(crowd.worker.id)


def stop(crowd: Crowd) -> Call[Any]:
    intent = random.choice([Intent.CANCEL, Intent.PAUSE])
    return control_calls.stop(crowd.job(), intent=intent, force=random.random() < 0.3)


def resume(crowd: Crowd) -> Call[Any]:
    return control_calls.resume(crowd.job())


def clear(crowd: Crowd) -> Call[Any]:
    if random.random() < 0.5:
        return control_calls.clear(target=random.choice(["t1", "t2"]))
    return control_calls.clear(crowd.job())


def recover(crowd: Crowd) -> Call[Any]:
    if random.random() < 0.5:
        with suppress(InputRefused):
            crowd.store.leave(crowd.worker.id)
        crowd.worker = make_worker(crowd.store, timedelta(hours=1))
    return upkeep.recover()


def promote(crowd: Crowd) -> Call[Any]:
    return enqueue_calls.promote(random.choice([1, 5, 500]))


def prune(crowd: Crowd) -> Call[Any]:
    ended = (State.COMPLETED, State.FAILED, State.CANCELLED)
    return upkeep.prune(dict.fromkeys(ended, timedelta(0)))


def pause_target(crowd: Crowd) -> Call[Any]:
    act = random.choice([control_calls.pause_dispatch, control_calls.resume_dispatch])
    return act("target", random.choice(["t1", "t2"]))


VERBS = [
    enqueue_child, claim, finish, stop, resume, clear, recover, promote, report, crash, renew,
    prune, pause_target,
]  # fmt: skip


@pytest.fixture
def crowd(store: Store, database: str, sql: psycopg.Connection) -> Crowd:
    return Crowd(store, database, sql)


def deadlocks(sql: psycopg.Connection) -> int:
    row = sql.execute(
        "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
    ).fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.fresh_database
def test_no_pair_of_verbs_deadlocks_and_what_they_leave_makes_sense(crowd: Crowd) -> None:
    random.seed(7)
    pairs = list(combinations_with_replacement(VERBS, 2))
    random.shuffle(pairs)
    share = BUDGET.total_seconds() / len(pairs)
    with ThreadPoolExecutor(THREADS) as threads:
        for number, pair in enumerate(pairs):
            if number % 10 == 0:
                crowd.plant()
            until = time.monotonic() + share * 2
            # Each pair beside a claim and a promote, so that there is something to fight about.
            turns = [threads.submit(crowd.run, verb, until) for verb in (*pair, claim, promote)]
            for turn in turns:
                turn.result()

    assert crowd.faults == {}
    assert {verb.split()[0] for verb in crowd.done} >= {"enqueue", "claim", "finish", "stop"}
    settle(crowd)
    broken = {
        name: rows
        for name, query in INVARIANTS.items()
        if (rows := crowd.sql.execute(query.encode()).fetchall())
    }
    assert broken == {}
    assert deadlocks(crowd.sql) == 0


def settle(crowd: Crowd) -> None:
    """The dead are recovered and promote has run dry."""
    for target in ("t1", "t2"):
        crowd.store.resume_dispatch("target", target)
    for _ in range(50):
        crowd.store.recover()
        done = crowd.store.promote()
        if not (done.linked or done.due or done.targets or done.closed):
            return
    raise AssertionError("promote always finds something to do")
