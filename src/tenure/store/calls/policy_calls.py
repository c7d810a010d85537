"""Change jobs by what they have in common: policies and bulk operations."""

from collections.abc import Mapping
from typing import Any, Unpack

from tenure.domain.job import JSON
from tenure.domain.lifecycle import Intent
from tenure.domain.policy import read_filter, read_policy
from tenure.domain.stop_options import StopOptions
from tenure.store.call import Argument, Call
from tenure.store.calls.arguments import actor, of_stop
from tenure.store.new_jobs import as_json
from tenure.store.reading import answer
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
    by: str | None = None,
    via: str = "python",
    **options: Unpack[StopOptions],
) -> Call[Bulk]:
    return Call(
        "bulk_stop",
        {
            "filter": Argument(as_json(read_filter(filters)), "jsonb"),
            **of_stop(intent, reason, options),
            **actor(by, via),
        },
        answer(Bulk),
    )


def bulk_resume(
    filters: Mapping[str, JSON],
    reason: str | None = None,
    *,
    fresh: bool = False,
    by: str | None = None,
    via: str = "python",
) -> Call[Bulk]:
    return Call(
        "bulk_resume",
        {
            "filter": Argument(as_json(read_filter(filters)), "jsonb"),
            "fresh": Argument(fresh, "bool"),
            "reason": Argument(reason, "text"),
            **actor(by, via),
        },
        answer(Bulk),
    )


def bulk_rerun(
    filters: Mapping[str, JSON],
    reason: str | None = None,
    *,
    by: str | None = None,
    via: str = "python",
) -> Call[Bulk]:
    return Call(
        "bulk_rerun",
        {
            "filter": Argument(as_json(read_filter(filters)), "jsonb"),
            "reason": Argument(reason, "text"),
            **actor(by, via),
        },
        answer(Bulk),
    )
