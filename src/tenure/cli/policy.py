"""``tenure policy``: rules that stop jobs."""

from typing import Annotated, Any

import typer

from tenure.cli.connection import Connection, action
from tenure.cli.options import StrategyOption, Where, flag, option
from tenure.cli.output import ago, pairs
from tenure.cli.parsing import filters, given, named_values
from tenure.cli.program import group
from tenure.domain.lifecycle import Intent
from tenure.store.calls import policy_calls, queries

commands = group("policy")

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of a policy.")]


@action(commands, "list", "tenure policy list", "tenure policy list --json")
def list_policies(to: Connection) -> None:
    """List policies, and how many jobs each has stopped."""
    to.out.answer_table(
        to.send(queries.policies()),
        ("policy", "does", "where", "when", "stopped", "checked", ""),
        lambda policy: (
            policy.name,
            policy.spec.get("intent", "cancel"),
            pairs(policy.spec.get("filter")),
            pairs(policy.spec.get("when")),
            policy.stopped,
            ago(policy.checked_at),
            policy.last_error or (None if policy.enabled else "off"),
        ),
        "no policies",
    )


@action(
    commands,
    "set",
    "tenure policy set stale-crawls --where queue=crawl --when waiting=2h",
    "tenure policy set newest-only --where task=index --when superseded=true",
    "tenure policy set expensive --when 'budget={\"tokens\": 0.9}' --intent pause",
    may_create=True,
)
def set_policy(
    to: Connection,
    name: Name,
    when: list[str] = option(
        "NAME=VALUE",
        "Conditions, all of which must hold: at=, age=, running=, waiting=, budget=, "
        "parent_failed=, superseded=, error_rate=. Repeatable.",
        default=...,
    ),
    where: Where = None,
    intent: Intent = option("INTENT", "cancel or pause.", default=Intent.CANCEL),
    strategy: StrategyOption = None,
    reason: str | None = option("TEXT", "Reason on the record of each stop."),
    off: bool = flag("--off", "Keep it, but do not apply it."),
) -> None:
    """Create a policy, which stops all matching jobs; using an existing name overwrites it."""
    spec: dict[str, Any] = {
        "filter": filters(where or ()),
        "when": named_values(when),
        "intent": str(intent),
        **given({"strategy": strategy, "reason": reason}),
    }
    policy = to.send(policy_calls.set_policy(name, spec, enabled=not off))
    to.out.answer(policy, f"Policy {name} is {'off' if off else 'set'}.")


@action(commands, "drop", "tenure policy drop stale-crawls")
def drop(to: Connection, name: Name) -> None:
    """Delete a policy; the jobs it has stopped stay stopped."""
    to.out.answer(to.send(policy_calls.drop_policy(name)), f"Policy {name} is dropped.")
