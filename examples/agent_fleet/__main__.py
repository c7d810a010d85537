"""The command ``necrocode``: ``python -m examples.agent_fleet``."""

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from examples.agent_fleet.cancellation import (
    CancellationResult,
    CancellationService,
    service_of,
)
from examples.agent_fleet.fleet import AGENTS, app
from examples.agent_fleet.plan import Plan
from examples.agent_fleet.resources import PoolManager
from examples.agent_fleet.tasks import TaskRegistry
from examples.agent_fleet.worktrees import Worktrees
from tenure import TenureError
from tenure.errors import InputRefused, NotFound

CHAT_APP = Path(__file__).with_name("chat-app.json")

cli = typer.Typer(no_args_is_help=True, add_completion=False, help="A fleet of agents.")
job = typer.Typer(no_args_is_help=True, help="Submit and cancel jobs.")
cli.add_typer(job, name="job")

JobId = Annotated[str, typer.Argument(metavar="JOB-ID")]
PlanFile = Annotated[Path, typer.Argument(metavar="PLAN", help="A plan as JSON.")]


@cli.command()
def up(plan: PlanFile = CHAT_APP, port: int = 8321) -> None:
    """Start everything: repository, repo pool and job, then database, worker and API."""
    submit(plan)
    tenure = [sys.executable, "-m", "tenure", "up", "examples.agent_fleet.fleet:app"]
    os.execv(sys.executable, [*tenure, "--port", str(port)])  # noqa: S606


@job.command()
def submit(plan: PlanFile = CHAT_APP) -> None:
    """Submit a job and all its tasks; its repository and the repo pool are made if need be."""
    read = Plan.read(plan)
    registry = TaskRegistry(app)
    repository = app.settings.folder.absolute() / "fleet" / read.job
    slots = [f"slot-{number}" for number in range(1, AGENTS + 1)]
    with app:
        Worktrees(repository).create_repository()
        Worktrees(repository).create(slots)
        PoolManager(registry).create(slots)
        registry.submit(read, str(repository))
    typer.echo(f"Submitted job: {read.job}")
    typer.echo(f"Tasks: {', '.join(step.name for step in read.tasks)}")


@job.command()
def cancel(
    job_id: JobId,
    reason: str = "User requested cancellation",
    force: bool = typer.Option(False, "--force", help="Kill the runners at once."),
    task: Annotated[str | None, typer.Option(metavar="TASK-ID", help="Only this task.")] = None,
    cascade: bool = typer.Option(True, "--cascade/--no-cascade", help="Also its dependents."),
) -> None:
    """Cancel a job, or one of its tasks, and wait until everything has stopped."""
    cancelling = service_of(app)
    tasks = {it.task_id for it in cancelling.task_registry.tasks(job_id)}
    if task is not None and task not in tasks:
        raise NotFound(f"job {job_id} has no task {task}")
    if force and task is not None:
        raise InputRefused("--force is for a whole job; leave it out, or leave out --task")
    if not cascade and task is None:
        raise InputRefused("--no-cascade is for one task; name it with --task")
    typer.echo(f"Cancelling job: {job_id}")
    if task is not None:
        typer.echo(f"Task: {task}")
    typer.echo(f"Reason: {reason}")

    async def run() -> CancellationResult:
        async with app:
            if task is None:
                return await cancelling.cancel_job(job_id, reason, force)
            return await cancelling.cancel_task(task, reason, cascade)

    report(cancelling, asyncio.run(run()))


@job.command("cancel-status")
def cancel_status(job_id: JobId) -> None:
    """Check cancellation status."""
    record = service_of(app).cancellation_tracker.latest(job_id)
    typer.echo(f"Cancellation ID: {record.cancellation_id}")
    typer.echo(f"Status: {record.status.upper()}")


@job.command()
def cancellations(limit: int = 10) -> None:
    """List recent cancellations."""
    for record in service_of(app).cancellation_tracker.list_cancellations(limit):
        words = (record.cancellation_id, record.status.upper(), record.task_id or record.job_id)
        typer.echo(f"{'  '.join(words)}  {record.reason}")


def report(cancelling: CancellationService, result: CancellationResult) -> None:
    """Print what a cancellation came to; a pending task is one that had not completed."""
    record = cancelling.cancellation_tracker.get(result.cancellation_id)
    lines = {
        "stop_assignment": "Stopped task assignment",
        "terminate_runners": f"Terminated {count(result.runners_terminated, 'runner')}",
        "cancel_pending": f"Cancelled {count(result.tasks_cancelled, 'pending task')}",
        "update_tasks": "Updated task states",
        "release_slots": f"Released {count(result.slots_released, 'repo slot')}",
        "preserve_artifacts": f"Preserved {count(result.artifacts_preserved, 'artifact')}",
    }
    typer.echo("\nProgress:")
    for step in record.progress:
        tick = "✓" if step.status == "completed" else "✗"
        typer.echo(f"{tick} {lines[step.step_name]}")
    for error in result.errors:
        typer.echo(f"✗ {error}")
    typer.echo("\nSummary:")
    typer.echo(f"- Tasks completed: {len(result.tasks_completed)}")
    typer.echo(f"- Tasks cancelled: {len(result.tasks_cancelled)}")
    typer.echo(f"- Runners terminated: {len(result.runners_terminated)}")
    typer.echo(f"- Duration: {result.duration_seconds:.1f}s")
    typer.echo(f"\nCancellation ID: {result.cancellation_id}")
    typer.echo(f"Status: {record.status.upper()}")


def count(items: Sequence[str], noun: str) -> str:
    return f"{len(items)} {noun}" if len(items) == 1 else f"{len(items)} {noun}s"


if __name__ == "__main__":
    try:
        cli()
    except TenureError as error:
        sys.exit(f"necrocode: {error}")
