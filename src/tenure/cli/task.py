"""``tenure task``: what the catalogue knows of task functions."""

import json
from typing import Annotated

import typer

from tenure.cli.completing import complete_tasks
from tenure.cli.connecting import Connection, connected, connected_or_new
from tenure.cli.enqueueing import load
from tenure.cli.grouping import command, group
from tenure.cli.printing import ago, compact, exact
from tenure.cli.reading import not_found
from tenure.domain.values import amount
from tenure.store.calls import task_calls
from tenure.store.results import KnownTask

commands = group(
    "task",
    "List, show and announce tasks.",
    "tenure task list",
    "tenure task announce shop.jobs:app",
)

Name = Annotated[
    str,
    typer.Argument(metavar="TASK", help="The name of a task.", autocompletion=complete_tasks),
]


@command(commands, "list", "tenure task list", "tenure task list --json")
@connected
def list_tasks(to: Connection) -> None:
    """List the tasks that were announced, and how many living workers have each."""
    tasks = to.send(task_calls.tasks())
    if to.show.json:
        to.show.document(tasks)
        return
    to.show.table(
        ("task", "queue", "executor", "workers", "announced", ""),
        (
            (
                task.name,
                task.options.get("queue"),
                task.executor,
                sum(serving.workers for serving in task.serving),
                ago(task.announced_at),
                f"{len(task.serving)} versions" if len(task.serving) > 1 else None,
            )
            for task in tasks
        ),
        "no tasks: start a worker, or run `tenure task announce module:app`",
    )


@command(commands, "show", "tenure task show shop.jobs.crawl")
@connected
def show(to: Connection, task: Name) -> None:
    """Show what a task declares."""
    found = to.send(task_calls.tasks(task))
    if not found:
        raise not_found("task", task, [known.name for known in to.send(task_calls.tasks())])
    if to.show.json:
        to.show.document(found[0])
    else:
        _print_page(to, found[0])


@command(
    commands,
    "announce",
    "tenure task announce shop.jobs:app",
    "tenure task announce shop.jobs:app --all-tenants",
)
@connected_or_new
def announce(
    to: Connection,
    app: Annotated[str, typer.Argument(metavar="APP", help="The app: module:app.")],
    all_tenants: Annotated[
        bool, typer.Option("--all-tenants", help="For every tenant, not for one alone.")
    ] = False,
) -> None:
    """Announce what the tasks of an app declare, without a worker: a step of a deployment.

    Workers announce their tasks when they start. The newest announcement of a task counts.
    """
    loaded = load(app)
    to.use(loaded)
    tasks = loaded.announcement()["tasks"]
    to.send(task_calls.announce_tasks(tasks, everywhere=all_tenants))
    if to.show.json:
        to.show.document({"announced": [task["name"] for task in tasks]})
    else:
        to.show.say(f"Announced {amount(len(tasks), 'task', 'tasks')} of {app}.")


def _print_page(to: Connection, task: KnownTask) -> None:
    to.show.say(task.name)
    if task.doc:
        to.show.say()
        for line in task.doc.splitlines():
            to.show.say(f"  {line}")
        to.show.say()
    options = dict(task.options)
    facts = {
        "executor": task.executor,
        "target": task.target,
        "unique": task.unique,
        "undone by": task.compensate,
        **{
            name: value if isinstance(value, str) else compact(value)
            for name, value in options.items()
        },
        "announced": f"{exact(task.announced_at)}, first {exact(task.first_announced_at)}",
        "tenants": "all" if task.everywhere else to.tenant.name,
        "workers": _served(task),
    }
    for name, value in facts.items():
        if value not in (None, "null", "[]"):
            to.show.say(f"  {name:<13}{value}")
    if task.schema is not None:
        to.show.say("\n  arguments")
        for line in json.dumps(task.schema, indent=2).splitlines():
            to.show.say(f"    {line}")


def _served(task: KnownTask) -> str:
    if not task.serving:
        return "no living worker has it"
    return ", ".join(
        f"{serving.workers} with {serving.digest[:12]}"
        + (" (the newest)" if serving.digest == task.digest else "")
        for serving in task.serving
    )
