"""A job of the fleet of agents that is under way, for tests."""

from collections.abc import Sequence
from pathlib import Path

import psutil
from examples.agent_fleet import fleet
from examples.agent_fleet.cancellation import CancellationService, service_of
from examples.agent_fleet.plan import Plan, Step
from examples.agent_fleet.resources import PoolManager
from examples.agent_fleet.tasks import TaskRegistry, TaskState
from examples.agent_fleet.worktrees import Worktrees

from tenure import Handle
from tests.workers import eventually, is_gone

APP = "examples.agent_fleet.fleet:app"
JOB = "chat-app"
SLOTS = ("slot-1", "slot-2", "slot-3")
LONG = 600.0
PLAN = Plan(
    JOB,
    [
        Step("schema", ["schema.sql", "models.py"]),
        Step("server", ["server.py"], ["schema"], seconds=LONG),
        Step("client", ["client.ts"], ["schema"], seconds=LONG, manner="ignores"),
        Step("research", ["report.md"], ["schema"], in_repo=False, seconds=LONG, manner="forks"),
        Step("deploy", ["deploy.sh"], ["server", "client"]),
    ],
)
RUNNING = ("server", "client", "research")


class Fleet:
    """A job whose first task is completed, whose next three run, and whose last one waits."""

    def __init__(self, repository: Path, plan: Plan = PLAN, running: Sequence[str] = RUNNING):
        self.registry = TaskRegistry(fleet.app)
        self.registry.submit(plan, str(repository))
        eventually(lambda: all(map(self.pids, running)), "the agents work", 60)

    @property
    def service(self) -> CancellationService:
        return service_of(fleet.app)

    def handle(self, step: str) -> Handle[object]:
        return fleet.app.handle(f"{JOB}.{step}")

    def runner(self, step: str) -> str:
        return f"runner-{self.handle(step).id}"

    def pids(self, step: str) -> list[int]:
        return [int(pid) for pid in self._said(step, "pids")]

    def states(self) -> dict[str, TaskState]:
        return {
            task.task_id.removeprefix(f"{JOB}."): task.state for task in self.registry.tasks(JOB)
        }

    def nothing_is_left_of(self, *steps: str) -> None:
        """Look for processes, locks and slots where the kernel and the database keep them."""
        pids = [pid for step in steps for pid in self.pids(step)]
        assert len(pids) >= len(steps)
        eventually(lambda: not any(map(lives, pids)), f"{pids} are gone", 10)
        locks = [Path(path) for step in steps for path in self._said(step, "lock")]
        assert len(locks) == len(steps)
        eventually(lambda: not any(map(Path.exists, locks)), f"{locks} are gone", 10)
        tasks = {self.handle(step).id for step in steps}
        [pool] = fleet.app.store.pools("repo")
        assert not tasks & {slot.job_id for slot in pool.slots}

    def _said(self, step: str, about: str) -> list[str]:
        lines = [str(line).split() for line in self.handle(step).partials()]
        return [word for line in lines if line[0] == about for word in line[1:]]


def make_repository(place: Path) -> None:
    trees = Worktrees(place)
    trees.create_repository()
    trees.create(SLOTS)
    PoolManager(TaskRegistry(fleet.app)).create(SLOTS)


def lives(pid: int) -> bool:
    try:
        return not is_gone(psutil.Process(pid))
    except psutil.NoSuchProcess:
        return False
