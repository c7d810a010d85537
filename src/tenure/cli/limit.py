"""``tenure limit``: how much may be done in an interval, and how many at once."""

from typing import Annotated, Any

import typer

from tenure.cli.connection import Connection, action
from tenure.cli.options import Reason, argument, option
from tenure.cli.output import exact_time
from tenure.cli.parsing import not_found
from tenure.cli.program import group
from tenure.domain.limits import read_rates, shown_rates
from tenure.domain.options import read_duration
from tenure.store.calls import control_calls, queries
from tenure.store.limit_results import Limit, LimitClosure

commands = group("limit")

Name = Annotated[
    str,
    typer.Argument(metavar="LIMIT", help='Name of a limit, such as openai or "openai:{model}".'),
]
_RATE = "[UNIT=]N/TIME[:BURST]"


@action(
    commands,
    "set",
    "tenure limit set openai --rate 60/1m --rate tokens=90000/1m:5000",
    may_create=True,
)
def set_limit(
    to: Connection,
    limit: Name,
    rate: list[str] | None = option(
        _RATE, "Calls, or another unit, in an interval; at most BURST together. Repeatable."
    ),
    at_once: int | None = option("N", "Maximum number of grants in use."),
) -> None:
    """Create a limit, or replace it."""
    _answer(to, to.send(control_calls.set_limit(limit, read_rates(rate or ()), at_once=at_once)))


@action(commands, "list", "tenure limit list", "tenure limit list --json")
def list_limits(to: Connection) -> None:
    """List limits."""
    to.out.answer_table(
        to.send(queries.limits()),
        ("limit", "allows", "in use", "waiting", "state"),
        lambda limit: (
            limit.name,
            shown_rates(limit),
            sum(name.in_use for name in limit.names),
            sum(name.waiting for name in limit.names),
            _state(limit.closed),
        ),
        "no limits",
    )


@action(commands, "show", "tenure limit show openai:{model}")
def show(to: Connection, limit: Name) -> None:
    """Show a limit and the names that it limits: what is left, in use and waiting."""
    found = to.send(queries.limits(limit))
    if not found:
        raise not_found("limit", limit, [known.name for known in to.send(queries.limits())])
    to.out.answer(
        found[0],
        lambda _: to.out.table(
            ("name", "left", "in use", "waiting", "next at", "state"),
            (
                (
                    name.name,
                    ", ".join(f"{left:g} {unit}" for unit, left in name.levels.items()),
                    name.in_use,
                    name.waiting,
                    exact_time(name.due_at),
                    _state(name.closed or found[0].closed),
                )
                for name in found[0].names
            ),
            f"{limit} allows {shown_rates(found[0])}; nothing has used it yet",
        ),
    )


@action(commands, "close", "tenure limit close openai:large --for 10m --reason 'provider is down'")
def close(
    to: Connection,
    limit: Name,
    for_: str | None = option("TIME", "How long (default: until it is opened).", "--for"),
    reason: Reason = None,
) -> None:
    """Let a limit, or one name of a template, grant nothing."""
    duration = read_duration("--for", for_)
    _answer(to, to.send(control_calls.close_limit(limit, duration=duration, reason=reason)))


@action(commands, "open", "tenure limit open openai:large")
def open_limit(to: Connection, limit: Name, reason: Reason = None) -> None:
    """Open a limit that is closed."""
    answer: dict[str, Any] = to.send(control_calls.open_limit(limit, reason=reason))
    word = "is open again" if answer["opened"] else "was not closed"
    to.out.answer(answer, f"Limit {limit} {word}.")


@action(commands, "delete", "tenure limit delete openai")
def delete(to: Connection, limit: str = argument("LIMIT", "Name of a limit.")) -> None:
    """Delete a limit; jobs that wait for it may start."""
    to.out.answer(to.send(control_calls.drop_limit(limit)), f"Limit {limit} is deleted.")


def _state(closed: LimitClosure | None) -> str:
    if closed is None:
        return "open"
    until = "it is opened" if closed.until is None else exact_time(closed.until)
    return f"closed by {closed.by} until {until}"


def _answer(to: Connection, limit: Limit) -> None:
    state = f", {_state(limit.closed)}" if limit.closed else ""
    to.out.answer(limit, f"Limit {limit.name}: {shown_rates(limit)}{state}.")
