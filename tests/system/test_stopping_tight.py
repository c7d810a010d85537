"""Stops in tight places: many at once, at the very last moment, and without notices."""

import random
import threading
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tenure.control.task import Task
from tenure.domain.lifecycle import State, Status
from tenure.errors import IllegalTransition
from tests.apps import stopping
from tests.system.stage import Jobs, Stage, staged
from tests.workers import eventually


@pytest.fixture(scope="module")
def stage(shared_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("worker")
    with staged(stopping.app, shared_database, folder, "stopping") as stage:
        yield stage


# Many stops on one worker.


def test_one_stop_that_is_stuck_delays_no_other(stage: Stage) -> None:
    stuck = [stage.start(stopping.swallows_cancellation), stage.start(stopping.hogs)]
    waiting = [handle.cancel(reason="enough", grace="1h") for handle in stuck]
    eventually(lambda: stage.lines(f"swallowed-{stuck[0].id}"), "the first is stuck")
    for task in (stopping.sleeps_async, stopping.sleeps):
        other = stage.start(task)
        stage.is_stopped(other, stage.stop(other), "interrupted")
    for handle, asked in zip(stuck, waiting, strict=True):
        assert handle.status() is Status.CANCELLING
        handle.cancel(reason="now", force=True)
        record = stage.watch.record_ends(asked.cancellation_id)
        assert [member.rung for member in record.members] == ["killed"]
    stage.nothing_is_left(*(handle.id for handle in stuck), files=False)


def test_a_hundred_jobs_are_stopped_at_once(stage: Stage) -> None:
    handles = stopping.sleeps_async.enqueue_many([{}] * 100)
    for handle in handles:
        stage.runs(handle.id)
    asked = [handle.cancel(reason="enough") for handle in handles]
    for record in asked:
        ended = stage.watch.record_ends(record.cancellation_id)
        assert [(one.became, one.rung) for one in ended.members] == [("cancelled", "interrupted")]
    stage.nothing_is_left(*(handle.id for handle in handles))


@pytest.mark.parametrize(
    "task", [stopping.quick, stopping.quick_function], ids=["async", "process"]
)
def test_a_stop_at_the_very_moment_of_the_end_harms_no_neighbour(
    stage: Stage, task: Task[..., Any]
) -> None:
    """Whatever comes first, each job ends as one or the other, and no record is left open."""
    luck = random.Random(7)
    innocent = stage.start(stopping.sleeps_async)
    handles, records = [], []
    for _ in range(25):
        batch = task.enqueue_many([{"seconds": luck.random() * 0.05} for _ in range(20)])
        luck.shuffle(batch)
        records += [asked for handle in batch if (asked := cancelled_maybe(handle, luck))]
        handles += batch
    for record in records:
        assert stage.watch.record_ends(record).status == "completed"
    for handle in handles:
        state = stage.watch.becomes(handle.id, State.COMPLETED, State.CANCELLED)
        job = stage.store.show(handle.id)
        assert (job.crashes, job.attempt) in ((0, 0), (0, 1)), (state, job)
    outcomes = {stage.watch.state(handle.id) for handle in handles}
    assert outcomes == {State.COMPLETED, State.CANCELLED}, "it was always too early, or too late"
    assert len(stage.lines(f"started-{innocent.id}")) == 1, "a neighbour was started again"
    stage.is_stopped(innocent, stage.stop(innocent), "interrupted")
    assert stage.store.statistics().by_status.get("running", 0) == 0


def cancelled_maybe(handle: Jobs, luck: random.Random) -> str | None:
    if luck.random() < 0.3:
        return None
    try:
        return handle.cancel(reason="enough").cancellation_id
    except IllegalTransition:
        return None


@pytest.mark.parametrize(
    "task",
    [stopping.spawns_without_end, stopping.function_spawns_without_end],
    ids=["async", "process"],
)
def test_a_spawn_that_races_with_the_stop_of_its_parent_leaves_nobody_behind(
    stage: Stage, task: Task[..., Any]
) -> None:
    for _ in range(5):
        handle = stage.start(task)
        record = stage.stop(handle, grace="20s")
        assert stage.watch.state(handle.id) is State.CANCELLED
        assert record.tasks_open == ()
        for child in handle.children():
            stage.watch.becomes(child.id, State.COMPLETED, State.CANCELLED)


# Without notices.


class Deaf:
    """Ends the listening sessions of a database again and again."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.ended = 0

    def _run(self) -> None:
        with psycopg.connect(self._url, autocommit=True) as connection:
            while not self._over.wait(0.005):
                row = connection.execute(
                    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                    " WHERE application_name = 'tenure notices' AND datname = current_database()"
                ).fetchone()
                assert row is not None
                self.ended += row[0]

    def __enter__(self) -> "Deaf":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def test_the_beat_brings_a_stop_when_no_notice_can(stage: Stage, shared_database: str) -> None:
    handles = [stage.start(stopping.sleeps_async), stage.start(stopping.sleeps)]
    with Deaf(shared_database) as deaf:
        eventually(lambda: deaf.ended > 0, "a listener was cut")
        for handle in handles:
            stage.is_stopped(handle, stage.stop(handle), "interrupted")
    again = stage.start(stopping.sleeps_async)
    stage.is_stopped(again, stage.stop(again), "interrupted")
