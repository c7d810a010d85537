"""``tenure strategy``: named sets of stop options."""

from typing import Annotated

import typer

from tenure.cli.connection import Connection, action
from tenure.cli.options import argument
from tenure.cli.output import pairs
from tenure.cli.parsing import named_values
from tenure.cli.program import group
from tenure.store.calls import control_calls, queries

commands = group("strategy")

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of a strategy.")]


@action(commands, "list", "tenure strategy list", "tenure strategy list --json")
def list_strategies(to: Connection) -> None:
    """List strategies."""
    to.out.answer_table(
        to.send(queries.strategies()),
        ("strategy", "options", "by"),
        lambda strategy: (strategy.name, pairs(strategy.options), strategy.created_by),
        "no strategies",
    )


@action(
    commands,
    "set",
    "tenure strategy set gentle grace=120 last_rung=interrupted",
    "tenure strategy set undo rollback=true force=true",
    may_create=True,
)
def set_strategy(
    to: Connection,
    name: Name,
    options: list[str] | None = argument(
        "NAME=VALUE",
        "grace and ask_for in seconds, force, last_rung, cascade, preserve, rollback.",
        None,
    ),
) -> None:
    """Create a strategy; using an existing name overwrites it."""
    strategy = to.send(control_calls.set_strategy(name, named_values(options or ())))
    to.out.answer(strategy, f"Strategy {name} is set.")


@action(commands, "drop", "tenure strategy drop gentle")
def drop(to: Connection, name: Name) -> None:
    """Delete a strategy; stops in progress keep their options."""
    to.out.answer(to.send(control_calls.drop_strategy(name)), f"Strategy {name} is dropped.")
