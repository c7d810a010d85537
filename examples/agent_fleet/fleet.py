"""A fleet of agents: a job of dependent tasks, each an agent in a git worktree of its own.

A worktree is a slot of a pool: an agent holds one from start to end, and it is free again however
the agent ended. An agent is a program; stopping its task stops it and everything it started.
"""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from examples.agent_fleet.worktrees import Worktrees
from tenure import Context, Tenure

app = Tenure()
AGENT = Path(__file__).with_name("agent.py")


@dataclass(frozen=True)
class Work:
    branch: str
    commit: str


@app.task(name="undo_agent", retry=3)
def undo(repository: str, result: Work) -> None:
    """What an agent did is undone by deleting its branch."""
    Worktrees(repository).forget(result.branch)


@app.task(name="agent", pools=["worktree"], grace="6s", close_timeout="2s", compensate=undo)
def agent(ctx: Context, repository: str, step: str, how: str = "obeys") -> Work:
    branch = f"agent/{ctx.job.root_id}-{step}"
    tree = Worktrees(repository).clean(ctx.job.slots["worktree"], branch)
    # In a temporary directory, so that no kill leaves the lock behind.
    lock = ctx.temp_dir() / "agent.lock"
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, AGENT, step, how, lock], cwd=tree, stdout=subprocess.PIPE, text=True
    )
    ctx.resources.add(process, name=f"agent of {step}")
    assert process.stdout is not None
    for line in process.stdout:
        ctx.log.info("%s", line.rstrip())
        ctx.emit({"step": step, "said": line.rstrip()})
    if process.wait() != 0:
        raise RuntimeError(f"the agent of {step} ended with {process.returncode}")
    work = Work(branch, Worktrees(repository).commit(tree, step))
    ctx.artifact(f"{step}.patch", Worktrees(repository).patch(tree))
    return work


@app.task(name="build")
async def build(
    ctx: Context,
    repository: str,
    plan: Sequence[tuple[str, Sequence[str]]],
    manners: Mapping[str, str] | None = None,
) -> list[Work]:
    """One agent for each step of a plan, after the steps it needs; it holds no worker meanwhile."""
    steps: dict[str, int] = {}
    agents = []
    for step, needs in plan:
        after = [steps[need] for need in needs]
        how = (manners or {}).get(step, "obeys")
        spawned = await ctx.aspawn(agent.using(after=after, key=step), repository, step, how)
        steps[step] = spawned.id
        agents.append(spawned)
    return await ctx.await_for(agents)
