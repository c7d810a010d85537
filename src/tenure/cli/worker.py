"""``tenure worker``: run the jobs of an app."""

import logging
import sys
from contextlib import ExitStack
from typing import Annotated

import typer

from tenure.domain.tenant import DEFAULT
from tenure.runtime.keeper.life import ExitCode
from tenure.runtime.keeper.program import make_plan, on_signals, run
from tenure.runtime.keeper.staff import ImportFailed


def worker(
    app: Annotated[
        str, typer.Argument(help="Where the app is: package.module:app or file.py:app.")
    ],
    queues: Annotated[
        str | None, typer.Option(help="Only these queues, with commas between them.")
    ] = None,
    tenants: Annotated[
        str, typer.Option(help="Whose jobs, with commas between them.")
    ] = DEFAULT.name,
    concurrency: Annotated[
        int | None, typer.Option(help="Coroutines at once, in one event loop.")
    ] = None,
    processes: Annotated[
        int | None, typer.Option(help="Plain functions at once, each in a process of its own.")
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(envvar="TENURE_DATABASE_URL", help="Your PostgreSQL; else what the app says."),
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Log beats and claims too.")
    ] = False,
) -> None:
    """Run the jobs of an app until SIGTERM or Ctrl-C; a second one hurries.

    Exit codes: 0 all that ran was finished; 1 an error; 3 the app cannot be imported; 4 what was
    not finished within drain_grace was handed over; 5 likewise, after a second signal.

    Examples: tenure worker shop.jobs:app; tenure worker jobs.py --queues crawl,mail --processes 8
    """
    logging.basicConfig(
        level=logging.DEBUG if verbose else logging.INFO,
        format="%(asctime)s %(levelname)s %(message)s",
        stream=sys.stderr,
    )
    logging.getLogger("asyncio").setLevel(logging.INFO)
    with ExitStack() as stack:
        plan = make_plan(
            stack,
            app,
            url=url,
            queues=None if queues is None else _names(queues),
            tenants=_names(tenants),
            concurrency=concurrency,
            processes=processes,
        )
        try:
            code = run(plan, on_signals)
        except ImportFailed as problem:
            typer.echo(f"{problem.traceback}tenure: {problem}", err=True)
            code = ExitCode.NOT_IMPORTED
    raise typer.Exit(code)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
