"""Workers whose clocks are wrong by an hour: everything still goes by the database's clock."""

import json
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import psycopg
import pytest

from tenure.domain.lifecycle import State
from tenure.store.store import Store
from tests.apps import dying
from tests.system.scene import Scene
from tests.workers import ROOT, RunningWorker, eventually

COMPILER = shutil.which("cc")

pytestmark = pytest.mark.skipif(
    COMPILER is None, reason="there is no C compiler here to make a wrong clock with"
)

# The wall clock only; what counts time, and so every sleep and timeout, stays as it is.
WRONG_CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(clock, now);
    if (!failed && clock == CLOCK_REALTIME) now->tv_sec += atol(getenv("WRONG_BY") ?: "0");
    return failed;
}
int gettimeofday(struct timeval *now, void *zone) {
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}
time_t time(time_t *where) {
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    if (where) *where = exact.tv_sec;
    return exact.tv_sec;
}
"""


@pytest.fixture(scope="module")
def wrong_clock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clock")
    (folder / "clock.c").write_text(WRONG_CLOCK)
    made = folder / "clock.so"
    command = [str(COMPILER), "-shared", "-fPIC", "-o", str(made), str(folder / "clock.c"), "-ldl"]
    subprocess.run(command, check=True)
    return made


@pytest.fixture
def scene(database: str, store: Store, tmp_path: Path) -> Scene:
    return Scene(database, store, tmp_path)


def wrong_by(hours: int, clock: Path) -> dict[str, str]:
    return {"LD_PRELOAD": str(clock), "WRONG_BY": str(hours * 3600)}


def clock_of(worker: RunningWorker) -> timedelta:
    """How far the clock is ahead by which it writes its log."""
    said = datetime.fromisoformat(worker.log.split(",")[0]).astimezone(UTC)
    return said - datetime.now(UTC)


@pytest.mark.parametrize("hours", [1, -1])
def test_leases_retries_and_snoozes_go_by_the_clock_of_the_database(
    scene: Scene, wrong_clock: Path, hours: int
) -> None:
    with (
        scene.worker("--queues", "none"),  # to miss the other if it seems late
        scene.worker(**wrong_by(hours, wrong_clock)) as worker,
    ):
        assert abs(clock_of(worker) - timedelta(hours=hours)) < timedelta(minutes=5)
        waiting = [
            scene.enqueue(dying.fails_first.new_job()),
            scene.enqueue(dying.snoozes_first.new_job()),
        ]
        long = scene.start(dying.lasts.new_job(4))
        for job in scene.completes(*waiting):
            moments = (scene.folder / f"moments-{job.id}").read_text().split()
            first, second = map(float, moments)
            assert 0.95 < second - first < 10
        assert (scene.completes(long)[0].result, len(scene.runs(long))) == (1, 1)
        assert scene.store.statistics().recovered == 0
        assert worker.drain() == 0


def test_two_workers_with_different_clocks_enqueue_each_time_of_a_schedule_once(
    scene: Scene, wrong_clock: Path, sql: psycopg.Connection
) -> None:
    app, only = "tests.apps.dying:scheduled", ("--queues", "default")
    with (
        scene.worker(*only, app=app, **wrong_by(1, wrong_clock)) as ahead,
        scene.worker(*only, app=app, **wrong_by(-1, wrong_clock)) as behind,
    ):
        eventually(lambda: len(times(sql, "queueing")) >= 8, "some times have passed", 30)
        assert ahead.drain() == behind.drain() == 0
    queued = times(sql, "queueing")
    steps = {later - earlier for earlier, later in pairwise(queued)}
    assert steps == {timedelta(seconds=1)}, "every time has its job"
    assert abs(queued[-1] - datetime.now(UTC)) < timedelta(seconds=60)
    _see_that_none_ran_beside_another(sql)
    _see_that_only_the_newest_is_left(scene, sql)


ENQUEUES = """
import asyncio, sys
from tests.apps import dying
dying.app._url = sys.argv[1]
task = dying.quick.using(deadline="30m")
made = [task.enqueue(), *task.enqueue_many([()] * 2), asyncio.run(task.aenqueue())]
print(*(handle.id for handle in made))
"""


@pytest.mark.parametrize("hours", [1, -1])
def test_a_deadline_goes_by_the_clock_of_the_database_and_not_of_who_enqueues(
    scene: Scene, wrong_clock: Path, sql: psycopg.Connection, hours: int
) -> None:
    said = run(wrong_by(hours, wrong_clock), sys.executable, "-c", ENQUEUES, scene.url)
    for job in map(int, said.split()):
        left = sql.execute(
            "SELECT (options ->> 'deadline')::timestamptz - tenure.now() FROM tenure.payload "
            "WHERE job_id = %s",
            (job,),
        ).fetchone()
        assert left is not None
        assert timedelta(minutes=25) < left[0] <= timedelta(minutes=30)


@pytest.mark.parametrize("hours", [1, -1])
def test_a_list_since_some_time_goes_by_the_clock_of_the_database(
    scene: Scene, wrong_clock: Path, sql: psycopg.Connection, hours: int
) -> None:
    old, new = (scene.enqueue(dying.quick.new_job()) for _ in range(2))
    sql.execute(
        "UPDATE tenure.job SET created_at = created_at - interval '40 minutes' WHERE id = %s",
        (old,),
    )
    tenure = (sys.executable, "-m", "tenure", "job", "list", "--url", scene.url, "--json")
    for words, there in ((("--since", "20m"), [new]), (("--until", "20m"), [old])):
        listed = json.loads(run(wrong_by(hours, wrong_clock), *tenure, *words))
        assert [one["id"] for one in listed] == there, words


def run(environment: dict[str, str], *words: str) -> str:
    env = {**os.environ, **environment}
    done = subprocess.run(words, cwd=ROOT, env=env, check=True, capture_output=True, text=True)
    return done.stdout


def times(sql: psycopg.Connection, schedule: str) -> list[datetime]:
    prefix = f"tenure:schedule:{schedule}:"
    rows = sql.execute(
        "SELECT substr(idempotency_key, %s) FROM tenure.job WHERE starts_with(idempotency_key, %s)",
        (len(prefix) + 1, prefix),
    )
    return sorted(datetime.fromisoformat(text) for (text,) in rows)


def _see_that_none_ran_beside_another(sql: psycopg.Connection) -> None:
    """overlap="skip": a time that comes while the job of another one runs has none."""
    rows = sql.execute(
        "SELECT started_at, ended_at FROM tenure.job "
        "WHERE starts_with(idempotency_key, 'tenure:schedule:skipping:') ORDER BY id"
    ).fetchall()
    assert 2 <= len(rows) < len(times(sql, "queueing"))
    for (_, ended), (started, _) in pairwise(rows):
        assert started is None or ended <= started


def _see_that_only_the_newest_is_left(scene: Scene, sql: psycopg.Connection) -> None:
    """overlap="replace": a job that has not started gives way to that of the next time."""
    rows = sql.execute(
        "SELECT id FROM tenure.job "
        "WHERE starts_with(idempotency_key, 'tenure:schedule:replacing:') ORDER BY id"
    ).fetchall()
    assert len(rows) >= 5
    assert {scene.watch.state(job) for (job,) in rows[:-1]} == {State.CANCELLED}
    assert scene.watch.state(rows[-1][0]) is State.PENDING
