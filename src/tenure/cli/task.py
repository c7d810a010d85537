"""``tenure task``: the catalogue of announced tasks."""

import json

from msgspec import structs

from tenure.cli.connection import Connection, action, load_app
from tenure.cli.options import TaskName, argument, flag
from tenure.cli.output import ago, compact, duration_text, exact_time
from tenure.cli.parsing import not_found
from tenure.cli.program import group
from tenure.domain.values import amount
from tenure.store.calls import task_calls
from tenure.store.rollups import TaskRuns
from tenure.store.task_results import KnownTask

commands = group("task")


@action(commands, "list", "tenure task list", "tenure task list --json")
def list_tasks(to: Connection) -> None:
    """List announced tasks, and how many live workers have each."""
    to.out.answer_table(
        to.send(task_calls.tasks()),
        ("task", "queue", "executor", "workers", "announced", ""),
        lambda task: (
            task.name,
            task.options.get("queue"),
            task.executor,
            sum(serving.workers for serving in task.serving),
            ago(task.announced_at),
            f"{len(task.serving)} versions" if len(task.serving) > 1 else None,
        ),
        "no tasks: start a worker, or run `tenure task announce module:app`",
    )


@action(commands, "show", "tenure task show shop.jobs.crawl")
def show(to: Connection, task: TaskName) -> None:
    """Show the declaration of a task, and how its newest jobs ended."""
    found = to.send(task_calls.tasks(task))
    if not found:
        raise not_found("task", task, [known.name for known in to.send(task_calls.tasks())])
    counted = to.send(task_calls.task_runs(task))
    runs = counted[0] if counted else None
    to.out.answer(
        {**structs.asdict(found[0]), "runs": runs}, lambda _: _print_page(to, found[0], runs)
    )


@action(
    commands,
    "announce",
    "tenure task announce shop.jobs:app",
    "tenure task announce shop.jobs:app --all-tenants",
    may_create=True,
)
def announce(
    to: Connection,
    app: str = argument("APP", "The app: module:app."),
    all_tenants: bool = flag("--all-tenants", "Announce to every tenant."),
) -> None:
    """Announce the tasks of an app without a worker, as a step of a deployment.

    Workers announce their tasks when they start. The newest announcement of a task counts.
    """
    loaded = load_app(app)
    to.use(loaded)
    tasks = loaded.announcement()["tasks"]
    to.send(task_calls.announce_tasks(tasks, everywhere=all_tenants))
    to.out.answer(
        {"announced": [task["name"] for task in tasks]},
        f"Announced {amount(len(tasks), 'task', 'tasks')} of {app}.",
    )


def _print_page(to: Connection, task: KnownTask, runs: TaskRuns | None) -> None:
    to.out.print(task.name)
    if task.doc:
        to.out.print()
        for line in task.doc.splitlines():
            to.out.print(f"  {line}")
        to.out.print()
    facts = {
        "executor": task.executor,
        "target": task.target,
        "unique": task.unique,
        "undone by": task.compensate,
        **{
            name: value if isinstance(value, str) else compact(value)
            for name, value in task.options.items()
        },
        "announced": exact_time(task.announced_at),
        "first": exact_time(task.first_announced_at),
        "tenants": "all" if task.everywhere else to.tenant.name,
        "workers": _workers(task),
        **(_facts(runs) if runs else {}),
    }
    for name, value in facts.items():
        if value not in (None, "null", "[]"):
            to.out.print(f"  {name:<13}{value}")
    if task.schema is not None:
        to.out.print("\n  arguments")
        for line in json.dumps(task.schema, indent=2).splitlines():
            to.out.print(f"    {line}")


def _facts(runs: TaskRuns) -> dict[str, str]:
    ended = f"{runs.completed:,} completed, {runs.failed:,} failed, {runs.cancelled:,} cancelled"
    times = runs.run_time(0.5), runs.run_time(0.95)
    return {
        "newest jobs": f"{runs.jobs:,}: {ended}",
        "run time": "".join(
            f"{name} {duration_text(time)} "
            for name, time in zip(("p50", "p95"), times, strict=True)
            if time
        ).strip(),
    }


def _workers(task: KnownTask) -> str:
    if not task.serving:
        return "no live worker has it"
    return ", ".join(
        f"{serving.workers} with {serving.digest[:12]}"
        + (" (the newest)" if serving.digest == task.digest else "")
        for serving in task.serving
    )
