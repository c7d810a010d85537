"""The app of the fleet: a task is an agent, a program that works in a git worktree.

A worktree is a slot of the pool ``repo``: an agent holds it from start to end, and it is free again
however the agent ended. Stopping a task stops its agent and everything the agent started.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from examples.agent_fleet.worktrees import Worktrees
from tenure import Context, Settings, Tenure

AGENTS = 4  # at once, each in a process of its own
AGENT = Path(__file__).with_name("agent.py")

app = Tenure(
    settings=Settings.from_environment({"TENURE_PROCESSES": str(AGENTS), **os.environ}),
)


@dataclass(frozen=True)
class Work:
    """The branch that an agent left; none if it needed no repository."""

    branch: str | None


@app.task(name="undo_agent", retry=3)
def undo(repository: str, result: Work) -> None:
    """Undo the work of an agent: delete its branch."""
    if result.branch is not None:
        Worktrees(repository).forget(result.branch)


@app.task(name="agent", pools=["repo"], grace="30s", close_timeout="5s", compensate=undo)
def agent(
    ctx: Context, repository: str, writes: Sequence[str], seconds: float, manner: str
) -> Work:
    """Run an agent in the worktree of its slot, and keep the files that it writes."""
    slot = ctx.job.slots.get("repo")
    branch = f"agent/{ctx.job.key}"
    # In a temporary directory, so that no kill leaves the lock behind.
    lock = ctx.temp_dir() / "agent.lock"
    place = Worktrees(repository).clean(slot, branch) if slot else ctx.temp_dir()
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, AGENT, lock, str(seconds), manner, *writes],
        cwd=place,
        stdout=subprocess.PIPE,
        text=True,
    )
    ctx.resources.add(process, name=f"agent of {ctx.job.key}")
    assert process.stdout is not None
    for line in process.stdout:
        ctx.log.info("%s", line.rstrip())
        ctx.emit(line.rstrip())
    if process.wait() != 0:
        raise RuntimeError(f"the agent ended with exit code {process.returncode}")
    for name in writes:
        ctx.artifact(name, place / name)
    if slot is None:
        return Work(None)
    Worktrees(repository).commit(place, f"{ctx.job.key}: {', '.join(writes)}")
    return Work(branch)
