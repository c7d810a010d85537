"""``tenure schedule``: the times at which an app enqueues jobs."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tenure.cli.connection import Connection, action, load_app
from tenure.cli.options import AppOption, New, Reason
from tenure.cli.output import ago
from tenure.cli.parsing import not_found
from tenure.cli.pause import pause_subject, reason_of, resume_subject
from tenure.cli.program import group
from tenure.errors import InputRefused

if TYPE_CHECKING:
    from tenure.control.schedule import Schedule

commands = group("schedule")

Name = Annotated[str, typer.Argument(metavar="SCHEDULE", help="Name of a schedule.")]
Beside = Annotated[
    bool, typer.Option("--beside", help="Also if a job of the schedule has not ended.")
]


@action(commands, "list", "tenure schedule list --app shop.jobs:app")
def list_schedules(to: Connection, app: AppOption = None) -> None:
    """List the schedules of an app, and when each next enqueues a job."""
    # Imported here, as below: it imports pydantic, which no other command needs.
    from tenure.control.schedule_runs import described

    to.out.answer_table(
        to.perform(described(_schedules(to, app).values())),
        ("schedule", "cron", "zone", "task", "next", ""),
        lambda it: (
            *(it.name, it.cron, it.tz, it.task, it.next_at and ago(it.next_at)),
            it.pause and to.out.status("paused", reason_of(it.pause)),
        ),
        "no schedules",
    )


@action(commands, "pause", 'tenure schedule pause nightly --reason "the warehouse moves"')
def pause(
    to: Connection,
    schedule: Name,
    app: AppOption = None,
    reason: Reason = None,
    new: New = False,
) -> None:
    """Let a schedule enqueue no jobs until it is resumed; running jobs continue.

    Without an app, a schedule is known if it has enqueued a job.
    """
    if app:
        _find(to, app, schedule)
    pause_subject(to, to.caller, "schedule", schedule, reason, is_new=new or bool(app))


@action(commands, "resume", "tenure schedule resume nightly")
def resume(to: Connection, schedule: Name, reason: Reason = None) -> None:
    """Let a paused schedule enqueue jobs again; times that it missed are not made up for."""
    resume_subject(to, to.caller, "schedule", schedule, reason)


@action(commands, "run", "tenure schedule run nightly --app shop.jobs:app")
def run(to: Connection, schedule: Name, app: AppOption = None, beside: Beside = False) -> None:
    """Enqueue a job of a schedule at once, beside its usual times.

    If its jobs may not overlap and one has not ended, this is refused without --beside.
    """
    from tenure.control.schedule_runs import run_at_once

    found = _find(to, app, schedule)
    to.caller.require("enqueue")
    made = to.perform(run_at_once(found, beside=beside))
    to.out.answer(made, f"Enqueued job {made.id}.")


def _find(to: Connection, app: str | None, name: str) -> "Schedule":
    schedules = _schedules(to, app)
    if name not in schedules:
        raise not_found("schedule", name, schedules)
    return schedules[name]


def _schedules(to: Connection, app: str | None) -> Mapping[str, "Schedule"]:
    """Return the schedules of an app in the tenant of the caller."""
    from tenure.control.schedule_runs import schedules_of

    if app is None:
        raise InputRefused("schedules are declared in an app: name it with --app, or in TENURE_APP")
    loaded: Any = load_app(app)
    to.use(loaded)
    return {each.name: each for each in schedules_of(to.tenant, loaded.schedules.values())}
