"""The command ``tenure``."""

import sys

import typer

from tenure.cli.options import flag
from tenure.cli.program import Program, group

app = group(
    "tenure",
    "tenure worker shop.jobs:app",
    "tenure job enqueue shop.crawl site=example.org --wait",
    "tenure job list --status running",
    "tenure job cancel 42",
    text="Jobs on PostgreSQL: nothing is lost, and stopped means stopped.",
    cls=Program,
)


def _show_version(requested: bool) -> None:
    if requested:
        from importlib.metadata import version

        typer.echo(version("tenure"))
        raise typer.Exit


@app.callback()
def main(
    _version: bool = flag(
        "--version", "Show the version and exit.", callback=_show_version, is_eager=True
    ),
) -> None:
    """Parse the options of the program itself; its commands do the work."""


def run() -> None:
    """Run the command line."""
    # A character that the encoding lacks is printed as its number; an error would end the command.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    app()
