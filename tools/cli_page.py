"""Generate the page of commands from their help."""

from typing import Any

import typer

from tenure.cli.help import panels, usage
from tenure.cli.main import app

SHARED = "On every command"
HELP = "--help"


def commands() -> str:
    """Return the text of every command, group by group."""
    program: Any = typer.main.get_command(app)
    root = typer.Context(program, info_name="tenure")
    lines: list[str] = []
    for title, rows in panels(program, root).items():
        if title == "Options":
            continue
        lines += [f"## {title}", ""]
        for name, _ in rows:
            lines += _described(program.commands[name], root)
    return "\n".join(lines).strip()


def _described(command: Any, above: Any) -> list[str]:
    ctx = typer.Context(command, info_name=command.name, parent=above)
    if not hasattr(command, "commands"):
        return _command(command, ctx)
    lines = [_heading(ctx), "", command.help, ""]
    for below in command.commands.values():
        lines += _described(below, ctx)
    return lines


def _command(command: Any, ctx: Any) -> list[str]:
    lines = [_heading(ctx), "", "```console"]
    lines += [f"$ {example}" for example in command.epilog.split("\n")]
    lines += ["```", "", *_paragraphs(command.help)]
    rows = [
        (name, meaning)
        for title, options in panels(command, ctx).items()
        for name, meaning in options
        if title != SHARED and name != HELP
    ]
    if not rows:
        return [*lines, f"`{usage(command, ctx)}`", ""]
    lines += [f"| `{usage(command, ctx)}` | |", "|---|---|"]
    return [*lines, *(f"| `{name}` | {meaning} |" for name, meaning in rows), ""]


def _heading(ctx: Any) -> str:
    return f"{'#' * (len(ctx.command_path.split()) + 1)} {ctx.command_path}"


def _paragraphs(text: str) -> list[str]:
    return [line for it in text.split("\n\n") for line in (" ".join(it.split()), "")]
