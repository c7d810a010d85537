"""``tenure strategy``: named ways to stop."""

from typing import Annotated

import typer

from tenure.cli.connecting import Connection, connected, connected_or_new
from tenure.cli.grouping import command, group
from tenure.cli.printing import compact
from tenure.cli.reading import named_values
from tenure.store.calls import control_calls, queries

commands = group(
    "strategy",
    "Name ways to stop, for tenure job cancel --strategy.",
    "tenure strategy list",
    "tenure strategy set gentle grace=120 last_rung=interrupted",
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of a strategy.")]


@command(commands, "list", "tenure strategy list", "tenure strategy list --json")
@connected
def list_strategies(to: Connection) -> None:
    """List strategies."""
    strategies = to.send(queries.strategies())
    if to.show.json:
        to.show.document(strategies)
        return
    to.show.table(
        ("strategy", "options", "by"),
        (
            (
                it.name,
                " ".join(f"{name}={compact(value)}" for name, value in it.options.items()),
                it.created_by,
            )
            for it in strategies
        ),
        "no strategies",
    )


@command(
    commands,
    "set",
    "tenure strategy set gentle grace=120 last_rung=interrupted",
    "tenure strategy set undo rollback=true force=true",
)
@connected_or_new
def set_strategy(
    to: Connection,
    name: Name,
    options: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME=VALUE",
            help="grace and ask_for in seconds, force, last_rung, cascade, preserve, rollback.",
        ),
    ] = None,
) -> None:
    """Make a strategy, or change one."""
    strategy = to.send(control_calls.set_strategy(name, named_values(options or ())))
    if to.show.json:
        to.show.document(strategy)
        return
    to.show.say(f"Strategy {name} is set.")


@command(commands, "drop", "tenure strategy drop gentle")
@connected
def drop(to: Connection, name: Name) -> None:
    """Forget a strategy; stops that go on are not changed."""
    answer = to.send(control_calls.drop_strategy(name))
    if to.show.json:
        to.show.document(answer)
        return
    to.show.say(f"Strategy {name} is gone.")
