"""``tenure target``: what jobs work on, one job at a time."""

from typing import Annotated

import typer

from tenure.cli.connection import Connection, action
from tenure.cli.options import Limit, New, Reason, Yes, argument
from tenure.cli.pause import (
    pause_subject,
    pauses_of,
    reason_of,
    refuse_unknown,
    resume_subject,
)
from tenure.cli.program import group
from tenure.store.calls import control_calls, queries
from tenure.store.results import Target

commands = group("target")

Name = Annotated[str, typer.Argument(metavar="TARGET", help="Name of a target.")]


@action(commands, "list", "tenure target list", "tenure target list site:example.org --json")
def list_targets(
    to: Connection,
    target: str | None = argument("TARGET", "Only this target.", None),
    limit: Limit = 50,
) -> None:
    """List targets with the jobs that hold them, block them, or wait for them."""
    targets = to.send(queries.targets(target, limit))
    if target is not None and not any(map(_is_used, targets)):
        refuse_unknown(to, "target", target)
    paused = pauses_of(to, "target")
    to.out.answer_table(
        targets,
        ("target", "holder", "blocked by", "in line", "next", ""),
        lambda target: (
            target.name,
            target.holder,
            ", ".join(map(str, target.blocked_by)) or None,
            target.line,
            target.next,
            to.out.status("paused", reason_of(paused[target.name]))
            if target.name in paused
            else None,
        ),
        "no targets",
    )


def _is_used(target: Target) -> bool:
    return bool(target.holder or target.blocked_by or target.line or target.paused)


@action(commands, "clear", "tenure target clear site:example.org --yes")
def clear(to: Connection, target: Name, reason: Reason = None, yes: Yes = False) -> None:
    """Cancel all failed jobs of a target, so that they block it no longer."""
    to.out.confirm(f"This would cancel all failed jobs of {target}, which unblocks it", yes=yes)
    answer = to.send(control_calls.clear(target=target, reason=reason))
    if not answer["cleared"]:
        refuse_unknown(to, "target", target)
    cleared = ", ".join(map(str, answer["cleared"]))
    to.out.answer(answer, f"Cleared {cleared}." if cleared else "No job had failed.")


@action(commands, "pause", "tenure target pause site:example.org")
def pause(to: Connection, target: Name, reason: Reason = None, new: New = False) -> None:
    """Start no more jobs of a target until it is resumed; running jobs continue."""
    pause_subject(to, to.caller, "target", target, reason, is_new=new)


@action(commands, "resume", "tenure target resume site:example.org")
def resume(to: Connection, target: Name, reason: Reason = None) -> None:
    """Start jobs of a paused target again."""
    resume_subject(to, to.caller, "target", target, reason)
