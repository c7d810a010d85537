"""``tenure target``: who has what, and who waits for it."""

from typing import Annotated

import typer

from tenure.cli.connecting import Connection, connected
from tenure.cli.grouping import command, group
from tenure.cli.listing import refuse_limit
from tenure.cli.naming import New, Why, Yes
from tenure.cli.pausing import pause_it, refuse_unknown, unpause_it
from tenure.store.calls import control_calls, queries
from tenure.store.results import Target

commands = group(
    "target",
    "Look at targets, unblock them, hold them up, let them go on.",
    "tenure target list",
    "tenure target clear site:example.org",
)

Name = Annotated[str, typer.Argument(metavar="TARGET", help="What jobs work on, one at a time.")]


@command(commands, "list", "tenure target list", "tenure target list site:example.org --json")
@connected
def list_targets(
    to: Connection,
    target: Annotated[str | None, typer.Argument(metavar="TARGET", help="Only this one.")] = None,
    limit: Annotated[int, typer.Option(metavar="N", help="The most to show; 50 else.")] = 50,
) -> None:
    """List targets: who holds each, what blocks it, who waits."""
    refuse_limit(limit)
    targets = to.send(queries.targets(target, limit))
    if target is not None and not any(_is_used(it) for it in targets):
        refuse_unknown(to, "target", target)
    if to.show.json:
        to.show.document(targets)
        return
    to.show.table(
        ("target", "holder", "blocked by", "in line", "next", ""),
        (
            (
                it.name,
                it.holder,
                ", ".join(map(str, it.blocked_by)) or None,
                it.line,
                it.next,
                to.show.status("paused") if it.paused else None,
            )
            for it in targets
        ),
        "no targets",
    )


def _is_used(target: Target) -> bool:
    return bool(target.holder or target.blocked_by or target.line or target.paused)


@command(commands, "clear", "tenure target clear site:example.org --yes")
@connected
def clear(to: Connection, target: Name, reason: Why = None, yes: Yes = False) -> None:
    """Give up on all failed jobs of a target: they are cancelled, and block it no longer."""
    to.show.confirm(f"This cancels all failed jobs of {target} for good, which frees it", yes=yes)
    answer = to.send(control_calls.clear(target=target, reason=reason))
    if not answer["cleared"]:
        refuse_unknown(to, "target", target)
    if to.show.json:
        to.show.document(answer)
        return
    jobs = answer["cleared"]
    told = "Nothing had failed." if not jobs else f"Cleared {', '.join(map(str, jobs))}."
    to.show.say(told)


@command(commands, "pause", "tenure target pause site:example.org")
@connected
def pause(to: Connection, target: Name, reason: Why = None, new: New = False) -> None:
    """Start nothing of a target until it is resumed; what runs goes on."""
    pause_it(to, to.caller, "target", target, reason, is_new=new)


@command(commands, "resume", "tenure target resume site:example.org")
@connected
def resume(to: Connection, target: Name, reason: Why = None) -> None:
    """Let a paused target go on."""
    unpause_it(to, to.caller, "target", target, reason)
