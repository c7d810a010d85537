"""``tenure policy``: rules by which jobs are stopped."""

from typing import Annotated, Any

import typer

from tenure.cli.connecting import Connection, connected, connected_or_new
from tenure.cli.grouping import command, group
from tenure.cli.listing import Where
from tenure.cli.printing import ago, compact
from tenure.cli.reading import filters, given, named_values
from tenure.domain.lifecycle import Intent
from tenure.store.calls import policy_calls, queries

commands = group(
    "policy",
    "Make rules by which jobs are stopped: too old, too dear, superseded.",
    "tenure policy list",
    "tenure policy set stale-crawls --where queue=crawl --when waiting=2h",
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of a policy.")]


@command(commands, "list", "tenure policy list", "tenure policy list --json")
@connected
def list_policies(to: Connection) -> None:
    """List policies, and how many jobs each has stopped."""
    policies = to.send(queries.policies())
    if to.show.json:
        to.show.document(policies)
        return
    to.show.table(
        ("policy", "does", "where", "when", "stopped", "looked", ""),
        (
            (
                it.name,
                it.spec.get("intent", "cancel"),
                _pairs(it.spec.get("filter")),
                _pairs(it.spec.get("when")),
                it.stopped,
                ago(it.checked_at),
                it.last_error or (None if it.enabled else "off"),
            )
            for it in policies
        ),
        "no policies",
    )


@command(
    commands,
    "set",
    "tenure policy set stale-crawls --where queue=crawl --when waiting=2h",
    "tenure policy set newest-only --where task=index --when superseded=true",
    "tenure policy set dear --when 'budget={\"tokens\": 0.9}' --intent pause",
)
@connected_or_new
def set_policy(
    to: Connection,
    name: Name,
    when: Annotated[
        list[str],
        typer.Option(
            metavar="NAME=VALUE",
            help="All of these: at=, age=, running=, waiting=, budget=, parent_failed=, "
            "superseded=, error_rate=; may be said again.",
        ),
    ],
    where: Where = None,
    intent: Annotated[
        Intent, typer.Option(metavar="INTENT", help="cancel or pause; cancel else.")
    ] = Intent.CANCEL,
    strategy: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="A named way to stop; see tenure strategy list."),
    ] = None,
    reason: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The reason on the record of each stop.")
    ] = None,
    off: Annotated[bool, typer.Option("--off", help="Keep it, but stop nothing by it.")] = False,
) -> None:
    """Make a policy, or change one: every job it fits is stopped, on record."""
    spec: dict[str, Any] = {
        "filter": filters(where or ()),
        "when": named_values(when),
        "intent": str(intent),
        **given({"strategy": strategy, "reason": reason}),
    }
    policy = to.send(policy_calls.set_policy(name, spec, enabled=not off))
    if to.show.json:
        to.show.document(policy)
        return
    to.show.say(f"Policy {name} is {'kept, and off' if off else 'set'}.")


@command(commands, "drop", "tenure policy drop stale-crawls")
@connected
def drop(to: Connection, name: Name) -> None:
    """Forget a policy; what it has stopped stays stopped."""
    answer = to.send(policy_calls.drop_policy(name))
    if to.show.json:
        to.show.document(answer)
        return
    to.show.say(f"Policy {name} is gone.")


def _pairs(values: Any) -> str:
    return " ".join(
        f"{name}={value if isinstance(value, str) else compact(value)}"
        for name, value in (values or {}).items()
    )
