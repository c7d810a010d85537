"""Verbs that change jobs by what they have in common: policies and bulk operations."""

from collections.abc import Mapping
from typing import Annotated, Any, Unpack

from tenure.domain.job import JSON
from tenure.domain.lifecycle import Intent
from tenure.domain.policy import read_filter, read_policy
from tenure.domain.stop_options import StopOptions
from tenure.store.new_jobs import encode_json
from tenure.store.policy_results import Bulk, Policy
from tenure.store.verb import Actor, Parameter, verb

Filter = Annotated[
    Mapping[str, JSON],
    Parameter("jsonb", lambda filters: encode_json(read_filter(filters))),
]
ALL_JOBS: Filter = {}
PolicySpec = Annotated[
    Mapping[str, Any], Parameter("jsonb", lambda spec: encode_json(read_policy(spec)))
]


class StopArguments(StopOptions, Actor, total=False):
    """The options of a stop, and the user who requests it."""


@verb(safe=True)
def set_policy(
    name: str, spec: PolicySpec, *, enabled: bool = True, **actor: Unpack[Actor]
) -> Policy: ...


@verb()
def drop_policy(name: str, **actor: Unpack[Actor]) -> dict[str, Any]: ...


@verb(without="rollback_tasks")
def bulk_stop(
    filter: Filter,
    intent: Intent = Intent.CANCEL,
    reason: str | None = None,
    **options: Unpack[StopArguments],
) -> Bulk: ...


@verb()
def bulk_resume(
    filter: Filter, reason: str | None = None, *, fresh: bool = False, **actor: Unpack[Actor]
) -> Bulk: ...


@verb()
def bulk_rerun(filter: Filter, reason: str | None = None, **actor: Unpack[Actor]) -> Bulk: ...
