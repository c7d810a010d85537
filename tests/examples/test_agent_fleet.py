"""Agents that obey, that do not, and that fork: stopped one by one, all together, and undone."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from examples.agent_fleet import fleet
from examples.agent_fleet.worktrees import Worktrees

from tenure.control.handle import Handle
from tenure.domain.cancellation import CancellationRecord
from tenure.domain.lifecycle import State
from tenure.store.store import Store
from tests.examples.conftest import pointed_at
from tests.workers import Watcher, eventually, is_gone

APP = "examples.agent_fleet.fleet:app"
PLAN: list[tuple[str, list[str]]] = [  # a step, and those it comes after
    ("schema", []),
    ("server", ["schema"]),
    ("client", ["schema"]),
    ("styles", ["schema"]),
    ("deploy", ["server", "client"]),
]
STEPS = [step for step, _ in PLAN]
MANNERS = {"schema": "obeys-at-once", "server": "obeys", "client": "ignores", "styles": "forks"}
RUNNING = ("server", "client", "styles")


@pytest.fixture
def repository(database: str, store: Store, tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "chat-app"
    for args in (
        ["init", "--quiet", "--initial-branch", "main", str(place)],
        ["-C", str(place), "commit", "--quiet", "--allow-empty", "--message", "first"],
    ):
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@localhost", *args], check=True
        )
    Worktrees(place).make(store, 3)
    with pointed_at(fleet.app, database):
        yield place


class Fleet:
    """A build whose first step is done and whose next three are under way."""

    def __init__(self, store: Store, repository: Path) -> None:
        self.store = store
        self.job: Handle[Any] = fleet.build.using(key="chat-app").enqueue(
            str(repository), PLAN, MANNERS
        )
        self.tasks: dict[str, int] = {}
        eventually(lambda: len(self.job.children()) == len(PLAN), "all agents are planned", 60)
        for child in self.job.children():
            self.tasks[str(child.job().key)] = child.id
        eventually(lambda: all(map(self.pids, RUNNING)), "three agents work", 60)

    def pids(self, step: str) -> list[int]:
        return [int(pid) for pid in self._said(step, "pids")]

    def _said(self, step: str, about: str) -> list[str]:
        lines = [partial["said"].split() for partial in self.handle(step).partials()]
        return [word for line in lines if line[0] == about for word in line[1:]]

    def handle(self, step: str) -> Handle[Any]:
        return fleet.app.handle(self.tasks[step])

    def ends(self, record: CancellationRecord) -> CancellationRecord:
        return Watcher(self.store).record_ends(record.cancellation_id, 60)

    def nothing_is_left_of(self, *steps: str) -> None:
        pids = [pid for step in steps for pid in self.pids(step)]
        assert len(pids) >= len(steps)
        eventually(lambda: not any(map(_lives, pids)), f"{pids} are gone", 10)
        locks = [Path(path) for step in steps for path in self._said(step, "lock")]
        eventually(lambda: not any(map(Path.exists, locks)), f"{locks} are gone", 10)
        [pool] = self.store.pools("worktree")
        held = [slot.job_id for slot in pool.slots if slot.job_id is not None]
        assert not set(held) & {self.tasks[step] for step in steps}

    def states(self) -> dict[str, State]:
        return {step: self.store.show(job).state for step, job in self.tasks.items()}


def _lives(pid: int) -> bool:
    try:
        return not is_gone(psutil.Process(pid))
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize("force", [False, True], ids=["gracefully", "by force"])
def test_a_cancelled_build_leaves_no_process_no_slot_and_no_lock(
    worker_of: Any, repository: Path, store: Store, force: bool
) -> None:
    with worker_of(APP, "--processes", "4"):
        build = Fleet(store, repository)
        record = build.ends(build.job.cancel("wrong design", by="ada", force=force))
        build.nothing_is_left_of(*RUNNING)
        # The lock stood in a temporary directory of the worker.
        eventually(lambda: not list(Path("/tmp").glob("tenure-*/**/agent.lock")), "no lock", 10)
    assert (record.status, record.initiated_by, record.reason) == (
        "completed",
        "ada",
        "wrong design",
    )
    assert set(record.tasks_cancelled) == {build.job.id, *build.tasks.values()} - {
        build.tasks["schema"]
    }
    assert record.tasks_completed == (build.tasks["schema"],)
    assert len(record.runners_terminated) == 3
    assert sorted(record.slots_released) == [f"worktree/tree-{n}" for n in range(3)]
    assert record.artifacts_preserved == (f"{build.tasks['schema']}/schema.patch",)
    [patch] = build.handle("schema").artifacts()
    assert "what schema needs" in Path(patch["url"].removeprefix("file://")).read_text()
    assert not any(record.errors)


def test_one_agent_is_cancelled_with_what_comes_after_it(
    worker_of: Any, repository: Path, store: Store
) -> None:
    with worker_of(APP, "--processes", "4"):
        build = Fleet(store, repository)
        record = build.ends(build.handle("client").cancel("not needed"))
        build.nothing_is_left_of("client")
        states = build.states()
        assert (record.job_id, record.task_id) == (build.job.id, build.tasks["client"])
        assert states["client"] == states["deploy"] == State.CANCELLED
        assert states["server"] == states["styles"] == State.RUNNING
        build.ends(build.job.cancel("enough", force=True))


def test_without_cascade_what_comes_after_it_stays(
    worker_of: Any, repository: Path, store: Store
) -> None:
    with worker_of(APP, "--processes", "4"):
        build = Fleet(store, repository)
        build.ends(build.handle("styles").cancel("not needed", cascade=False, force=True))
        build.nothing_is_left_of("styles")
        build.ends(build.handle("client").cancel("later", cascade=False))
        states = build.states()
        assert states["client"] == states["styles"] == State.CANCELLED
        assert states["deploy"] == State.PENDING
        build.ends(build.job.cancel("enough", force=True))


def test_a_build_that_is_left_alone_completes(
    worker_of: Any, repository: Path, store: Store
) -> None:
    with worker_of(APP, "--processes", "4"):
        at_once = dict.fromkeys(STEPS, "obeys-at-once")
        done = fleet.build.enqueue(str(repository), PLAN, at_once).result("90s")
    assert len(done) == len(PLAN)
    assert {work.branch for work in done} <= set(Worktrees(repository).branches())


def test_chosen_tasks_are_rolled_back(worker_of: Any, repository: Path, store: Store) -> None:
    manners = {**dict.fromkeys(STEPS, "obeys-at-once"), "deploy": "obeys"}
    with worker_of(APP, "--processes", "4"):
        build = fleet.build.using(key="chat-app").enqueue(str(repository), PLAN, manners)
        tasks = eventually(lambda: _completed(store, build), "all but the last are done", 60) or {}
        branches = Worktrees(repository).branches
        assert len([name for name in branches() if name.startswith("agent/")]) >= 4
        chosen = [tasks["client"], tasks["styles"]]
        record = build.cancel("undo the front end", rollback_tasks=chosen)
        Watcher(store).record_ends(record.cancellation_id, 60)
        gone = {f"agent/{build.id}-{step}" for step in ("client", "styles")}
        kept = {f"agent/{build.id}-{step}" for step in ("schema", "server")}
        eventually(lambda: not gone & set(branches()), "their branches are gone", 60)
        assert kept <= set(branches())


def _completed(store: Store, build: Handle[Any]) -> dict[str, int] | None:
    """The completed tasks by name, once all but the last are."""
    done = {
        str(job.key): job.id
        for job in store.list_jobs({"parent": build.id, "state": State.COMPLETED})
    }
    return done if len(done) == len(PLAN) - 1 else None
