"""Agents that obey, that ignore SIGTERM, and that fork: cancelled one by one, together, undone."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from examples.agent_fleet import fleet
from examples.agent_fleet.cancellation import CancellationResult
from examples.agent_fleet.plan import Plan, Step
from examples.agent_fleet.tasks import TaskState
from examples.agent_fleet.worktrees import Worktrees

from tenure.store.store import Store
from tests.examples.conftest import pointed_at
from tests.examples.fleet import APP, JOB, LONG, PLAN, RUNNING, Fleet, make_repository
from tests.workers import Watcher, eventually


@pytest.fixture
def repository(database: str, store: Store, tmp_path: Path) -> Iterator[Path]:
    with pointed_at(fleet.app, database):
        make_repository(tmp_path / "chat-app")
        yield tmp_path / "chat-app"


def cancel(job: Fleet, reason: str, force: bool = False) -> CancellationResult:
    return asyncio.run(job.service.cancel_job(JOB, reason, force))


@pytest.mark.parametrize("force", [False, True], ids=["gracefully", "by force"])
def test_a_cancelled_job_leaves_no_process_no_slot_and_no_lock(
    worker_of: Any, repository: Path, force: bool
) -> None:
    with worker_of(APP):
        job = Fleet(repository)
        runners = job.service.runner_monitor.get_job_runners(JOB)
        result = cancel(job, "wrong design", force)
        job.nothing_is_left_of(*RUNNING)
    record = job.service.cancellation_tracker.get(result.cancellation_id)
    assert (record.job_id, record.task_id, record.reason) == (JOB, None, "wrong design")
    assert (record.status, record.force) == ("completed", force)
    assert result.success
    assert result.errors == []
    assert result.tasks_cancelled == [f"{JOB}.{step}" for step in (*RUNNING, "deploy")]
    assert result.tasks_completed == [f"{JOB}.schema"]
    assert result.runners_terminated == runners == [job.runner(step) for step in RUNNING]
    assert result.slots_released == ["slot-1", "slot-2"]
    assert result.artifacts_preserved == [f"{JOB}.schema/{n}" for n in ("models.py", "schema.sql")]
    [_, schema] = job.handle("schema").artifacts()
    path = Path(str(schema["url"]).removeprefix("file://"))
    assert path.read_text() == "the contents of schema.sql\n"


def test_a_task_is_cancelled_with_its_dependents(worker_of: Any, repository: Path) -> None:
    with worker_of(APP):
        job = Fleet(repository)
        result = asyncio.run(job.service.cancel_task(f"{JOB}.client", "not needed"))
        job.nothing_is_left_of("client")
        states = job.states()
        assert result.tasks_cancelled == [f"{JOB}.client", f"{JOB}.deploy"]
        assert states["client"] == states["deploy"] == TaskState.CANCELLED
        assert states["server"] == states["research"] == TaskState.RUNNING
        cancel(job, "enough", force=True)


def test_without_cascade_the_dependents_stay(worker_of: Any, repository: Path) -> None:
    with worker_of(APP):
        job = Fleet(repository)
        asyncio.run(job.service.cancel_task(f"{JOB}.server", "later", cascade=False))
        job.nothing_is_left_of("server")
        states = job.states()
        assert states["server"] == TaskState.CANCELLED
        assert states["deploy"] == TaskState.PENDING
        cancel(job, "enough", force=True)


def test_a_job_that_is_left_alone_completes(worker_of: Any, repository: Path) -> None:
    at_once = Plan(JOB, [Step(it.name, it.writes, it.after, it.in_repo) for it in PLAN.tasks])
    with worker_of(APP):
        Fleet(repository, at_once, running=())
        fleet.app.handle(JOB).wait("90s")
    branches = {f"agent/{JOB}.{step}" for step in ("schema", "server", "client", "deploy")}
    assert branches <= set(Worktrees(repository).branches())


def test_chosen_tasks_are_rolled_back(worker_of: Any, repository: Path, store: Store) -> None:
    steps = [
        *(Step(name, [f"{name}.txt"]) for name in ("schema", "server", "client")),
        Step("deploy", ["deploy.sh"], ["schema", "server", "client"], seconds=LONG),
    ]
    with worker_of(APP):
        job = Fleet(repository, Plan(JOB, steps), running=["deploy"])
        chosen = [job.handle(step).id for step in ("server", "client")]
        record = fleet.app.handle(JOB).cancel("undo these", rollback_tasks=chosen)
        Watcher(store).record_ends(record.cancellation_id, 60)
        gone = {f"agent/{JOB}.{step}" for step in ("server", "client")}
        branches = Worktrees(repository).branches
        eventually(lambda: not gone & set(branches()), "their branches are gone", 60)
        assert f"agent/{JOB}.schema" in branches()


def test_a_plan_with_an_unknown_word_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_text(json.dumps({"job": JOB, "tasks": [{"name": "a", "writes": [], "needs": []}]}))
    with pytest.raises(ValueError, match="unknown field `needs`"):
        Plan.read(file)
