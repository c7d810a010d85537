"""The command ``tenure``."""

import sys
from importlib.metadata import version
from typing import Annotated

import typer

from tenure.cli import doctor, migrate, serve, top, up, worker
from tenure.cli.grouping import Program, command, group

app = group(
    "tenure",
    "Jobs on PostgreSQL: nothing is lost, and stopped means stopped.",
    "tenure migrate",
    "tenure worker shop.jobs:app",
    cls=Program,
)
command(app, "migrate", *migrate.EXAMPLES)(migrate.migrate)
app.add_typer(worker.commands)
command(app, "up", *up.EXAMPLES)(up.up)
command(app, "serve", *serve.EXAMPLES)(serve.serve)
command(app, "top", *top.EXAMPLES)(top.top)
command(app, "doctor", *doctor.EXAMPLES)(doctor.doctor)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(version("tenure"))
        raise typer.Exit


@app.callback()
def main(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and leave.", callback=_show_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Nothing of its own: every command says what it does."""


def run() -> None:
    """Run the command as it was typed."""
    # Where a character cannot be written, its number is: better than a command that breaks off.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    app()
