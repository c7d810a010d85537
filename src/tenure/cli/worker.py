"""``tenure worker``: run the jobs of an app; look at workers, and ask one to leave."""

import os
from contextlib import ExitStack
from typing import Annotated, Any

import typer

from tenure.cli.connecting import Url
from tenure.cli.grouping import command, group
from tenure.cli.helping import Group
from tenure.cli.workers import drain, end_runner, list_workers
from tenure.config import Settings
from tenure.domain.tenant import DEFAULT
from tenure.errors import InputRefused, SettingInvalid
from tenure.observe.logs import Form, configure


class Workers(Group):
    """``tenure worker shop.jobs:app`` is ``tenure worker run shop.jobs:app``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in {*self.commands, *ctx.help_option_names}:
            args = ["run", *args]
        return super().parse_args(ctx, args)


commands = group(
    "worker",
    "Run the jobs of an app; look at workers, and ask one to leave.",
    "tenure worker shop.jobs:app",
    "tenure worker jobs.py --queues crawl,mail --processes 8",
    "tenure worker list",
    cls=Workers,
)


@command(
    commands,
    "run",
    "tenure worker shop.jobs:app",
    "tenure worker run jobs.py --queues crawl,mail --processes 8",
)
def run(
    app: Annotated[
        str,
        typer.Argument(metavar="APP", help="Where the app is: package.module:app or file.py:app."),
    ],
    queues: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Only these queues, with commas between them."),
    ] = None,
    tenants: Annotated[
        str, typer.Option(metavar="NAMES", help="Whose jobs, with commas between them.")
    ] = DEFAULT.name,
    all_tenants: Annotated[
        bool,
        typer.Option("--all-tenants", help="The jobs of every tenant, also of those to come."),
    ] = False,
    concurrency: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Coroutines at once, in one event loop.")
    ] = None,
    processes: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Plain functions at once, each in a process of its own."
        ),
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Where Prometheus can read what it counts."),
    ] = None,
    log_format: Annotated[
        Form | None, typer.Option(metavar="FORMAT", help="Of the log: text or json.")
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Log beats and claims too.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Log JSON, a line for each.")] = False,
    url: Url = None,
) -> None:
    """Run the jobs of an app until SIGTERM or Ctrl-C; a second one hurries.

    The word "run" may be left out.

    Exit codes: 0 all that ran was finished; 1 an error; 3 the app cannot be imported; 4 what was
    not finished within drain_grace was handed over; 5 likewise, after a second signal.
    """
    # Here and not above: no other command needs a keeper, and it takes a while to import.
    from tenure.runtime.exit_code import ExitCode
    from tenure.runtime.keeper.program import make_plan, on_signals
    from tenure.runtime.keeper.program import run as live
    from tenure.runtime.keeper.runs.runner_launcher import ImportFailed

    if metrics is not None:
        _check_metrics(metrics)
    form: Form | None = log_format or ("json" if json else None)
    configure(form or Settings.from_environment(os.environ).log_format, verbose=verbose)
    with ExitStack() as stack:
        plan = make_plan(
            stack,
            app,
            url=url,
            queues=None if queues is None else _names(queues, "--queues"),
            tenants=_names(tenants, "--tenants"),
            all_tenants=all_tenants,
            concurrency=concurrency,
            processes=processes,
            metrics=metrics,
            log_format=form,
        )
        try:
            code = live(plan, on_signals)
        except ImportFailed as problem:
            typer.echo(f"{problem.traceback}tenure: {problem}", err=True)
            code = ExitCode.NOT_IMPORTED
    raise typer.Exit(code)


command(commands, "list", "tenure worker list", "tenure worker list --all --json")(list_workers)
command(commands, "drain", 'tenure worker drain 0a1b2c3d --reason "new version"')(drain)

command(
    commands,
    "end-runner",
    "tenure worker end-runner runner-0a1b2c3d-4",
    "tenure worker end-runner runner-0a1b2c3d-4 --force",
)(end_runner)


def _names(text: str, option: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise InputRefused(f"{option} takes names with commas between them, and this has none")
    return names


def _check_metrics(address: str) -> None:
    try:
        Settings(metrics=address)
    except SettingInvalid as error:
        raise InputRefused(f"--{error}") from None
