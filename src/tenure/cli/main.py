"""The command ``tenure``."""

import sys
from importlib.metadata import version
from typing import Annotated

import typer

from tenure.cli.migrate import migrate
from tenure.cli.worker import worker
from tenure.errors import TenureError

app = typer.Typer(
    name="tenure",
    help="Jobs on PostgreSQL: nothing is lost, and stopped means stopped.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command()(migrate)
app.command()(worker)


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
    """Run the command; a user's mistake is a sentence, not a traceback."""
    try:
        app()
    except TenureError as error:
        typer.echo(f"tenure: {error}", err=True)
        sys.exit(1)
