"""Stopping jobs by what they have in common: policies and bulk stops."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from tenure.domain.job import JSON
from tenure.domain.lifecycle import Intent, Rung
from tenure.domain.policy import read_filter, read_policy
from tenure.store.call import Argument, Call, answer
from tenure.store.calls.arguments import actor
from tenure.store.new_jobs import as_json
from tenure.store.ruled import Bulk, Policy


def set_policy(
    name: str,
    spec: Mapping[str, Any],
    *,
    enabled: bool = True,
    by: str | None = None,
    via: str = "python",
) -> Call[Policy]:
    return Call(
        "set_policy",
        {
            "name": Argument(name, "text"),
            "spec": Argument(as_json(read_policy(spec)), "jsonb"),
            "enabled": Argument(enabled, "bool"),
            **actor(by, via),
        },
        answer(Policy),
        safe=True,
    )


def drop_policy(name: str, *, by: str | None = None, via: str = "python") -> Call[dict[str, Any]]:
    return Call(
        "drop_policy", {"name": Argument(name, "text"), **actor(by, via)}, answer(dict[str, Any])
    )


def bulk_stop(
    filters: Mapping[str, JSON],
    intent: Intent = Intent.CANCEL,
    reason: str | None = None,
    *,
    strategy: str | None = None,
    force: bool | None = None,
    cascade: bool | None = None,
    grace: timedelta | None = None,
    ask_for: timedelta | None = None,
    last_rung: Rung | None = None,
    rollback: bool | None = None,
    preserve: bool | None = None,
    by: str | None = None,
    via: str = "python",
) -> Call[Bulk]:
    return Call(
        "bulk_stop",
        {
            "filter": Argument(as_json(read_filter(filters)), "jsonb"),
            "intent": Argument(str(intent), "text"),
            "reason": Argument(reason, "text"),
            "strategy": Argument(strategy, "text"),
            "force": Argument(force, "bool"),
            "cascade": Argument(cascade, "bool"),
            "grace": Argument(grace, "interval"),
            "ask_for": Argument(ask_for, "interval"),
            "last_rung": Argument(None if last_rung is None else str(last_rung), "tenure.rung"),
            "rollback": Argument(rollback, "bool"),
            "preserve": Argument(preserve, "bool"),
            **actor(by, via),
        },
        answer(Bulk),
    )
