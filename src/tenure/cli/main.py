"""The command ``tenure``."""

import sys
from typing import Annotated

import typer

from tenure.cli.migrate import migrate
from tenure.errors import TenureError

app = typer.Typer(
    name="tenure",
    help="Jobs on PostgreSQL: nothing is lost, and stopped means stopped.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command()(migrate)


@app.callback()
def main(
    version: Annotated[bool, typer.Option("--version", help="Show the version and leave.")] = False,
) -> None:
    if version:
        from importlib.metadata import version as installed

        typer.echo(installed("tenure"))
        raise typer.Exit


def run() -> None:
    """Run the command; a user's mistake is a sentence, not a traceback."""
    try:
        app()
    except TenureError as error:
        typer.echo(f"tenure: {error}", err=True)
        sys.exit(1)
