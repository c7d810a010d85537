"""Arguments and options that several commands take, each declared once."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

import typer

from tenure.cli.completion import complete_jobs, complete_queues, complete_tasks
from tenure.errors import InputRefused
from tenure.observe.logs import Form

SHARED = "On every command"
MAX_LIMIT = 1000


def _refuse_empty(param: typer.CallbackParam, value: str | None) -> str | None:
    """Refuse an option that is given but empty, as an unset variable in a script would be.

    Treated as left out it would mean another database, or the rights of the database user.
    """
    if value == "":
        raise InputRefused(f"{param.opts[0]} is empty; give it a value, or leave it out")
    return value


def _check_limit(limit: int) -> int:
    if not 1 <= limit <= MAX_LIMIT:
        raise InputRefused(f"--limit takes a number from 1 to {MAX_LIMIT}, not {limit}")
    return limit


def option(metavar: str, text: str, *names: str, default: Any = None, **more: Any) -> Any:
    """Return an option with a value, as the default of a parameter."""
    return typer.Option(default, *names, metavar=metavar, help=text, **more)


def flag(name: str, text: str, *names: str, default: bool | None = False, **more: Any) -> Any:
    """Return an option without a value."""
    return typer.Option(default, name, *names, help=text, **more)


def argument(metavar: str, text: str, default: Any = ...) -> Any:
    """Return an argument, which is required if it has no default."""
    return typer.Argument(default, metavar=metavar, help=text)


# On every command.
_shared = partial(typer.Option, show_envvar=False, callback=_refuse_empty, rich_help_panel=SHARED)
Url = Annotated[
    str | None,
    _shared(
        envvar="TENURE_DATABASE_URL",
        metavar="URL",
        help="URL of PostgreSQL (TENURE_DATABASE_URL; default: embedded).",
    ),
]
TenantOption = Annotated[
    str | None, _shared(metavar="NAME", help="Tenant (default: the tenant of the token).")
]
TokenOption = Annotated[
    str | None,
    _shared(
        envvar="TENURE_TOKEN",
        metavar="TEXT",
        help="Token (TENURE_TOKEN; default: act as the database user).",
    ),
]
Json = Annotated[
    bool,
    typer.Option("--json", help="Print JSON; a stream is JSON Lines.", rich_help_panel=SHARED),
]

# Names.
_JOB = typer.Argument(metavar="JOB", help="Id or key of a job.", autocompletion=complete_jobs)
JobName = Annotated[str, _JOB]
OptionalJob = Annotated[str | None, _JOB]
Jobs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="JOB...", help="Id or key of a job, or several.", autocompletion=complete_jobs
    ),
]
TaskName = Annotated[
    str, typer.Argument(metavar="TASK", help="Name of a task.", autocompletion=complete_tasks)
]
QueueName = Annotated[
    str, typer.Argument(metavar="QUEUE", help="Name of a queue.", autocompletion=complete_queues)
]
AppOption = Annotated[
    str | None,
    typer.Option(
        metavar="APP",
        envvar="TENURE_APP",
        show_envvar=False,
        help="Use the tasks and settings of this app: module:app (TENURE_APP).",
    ),
]

# Filters and pages.
Where = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="Only matching jobs: id=, status=, state=, queue=, task=, target=, owner=, tag=, "
        "key=, parent=, root=, worker=, text=. Repeatable.",
    ),
]
Below = Annotated[
    int | None, typer.Option(metavar="ID", help="Only ids below this one: the next page.")
]
Limit = Annotated[
    int, typer.Option(metavar="N", callback=_check_limit, help="Maximum number to show.")
]
Tail = Annotated[int | None, typer.Option(metavar="N", help="Only the last N.")]

# Changes.
Reason = Annotated[str | None, typer.Option(metavar="TEXT", help="Reason, for the audit log.")]
New = Annotated[bool, typer.Option("--new", help="Allow a name that no job has used yet.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
NotBefore = Annotated[
    str | None, typer.Option(metavar="TIME", help="Start no earlier than this: 2030-01-01T12:00Z.")
]
Wait = Annotated[
    bool,
    typer.Option("--wait/--no-wait", help="Wait until it is done (default), or return at once."),
]

Port = Annotated[
    int,
    typer.Option(metavar="N", min=0, max=65535, help="Port of the API; 0 picks a free one."),
]
LogFormat = Annotated[
    Form | None, typer.Option(metavar="FORMAT", help="Format of the log: text or json.")
]

# Stops.
Force = Annotated[bool, typer.Option("--force", help="Kill at once, without a grace period.")]
Grace = Annotated[
    str | None, typer.Option(metavar="DURATION", help="Time from the request to the kill: 10s, 2m.")
]
StrategyOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="Stop strategy; see tenure strategy list.")
]


def require_job(jobs: Sequence[str] | None) -> str:
    """Return the only job; refuse a command that names neither a job nor filters."""
    if not jobs:
        raise InputRefused("name a job by its id or key, or choose jobs with --where")
    return jobs[0]
