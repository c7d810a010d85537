"""Verbs of the chores: dead workers, old rows, policies, bulk operations and discarded files."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Annotated, Any, Unpack

from tenure.domain.lifecycle import State
from tenure.store.new_jobs import encode_json
from tenure.store.policy_results import Bulk, Enforced, PendingDiscard
from tenure.store.results import Pruned, PrunedRecords, RecoveryResult, Sweep
from tenure.store.rollups import RolledUp
from tenure.store.verb import Actor, Int4, Parameter, verb


def _encode_durations(keep: Mapping[State, timedelta]) -> str:
    return encode_json(
        {str(state): f"{span.total_seconds()} seconds" for state, span in keep.items()}
    )


@verb(safe=True)
def recover(
    *,
    grace: timedelta = timedelta(0),
    orphan_after: timedelta = timedelta(minutes=2),
    pending_after: timedelta | None = None,
    ids: Sequence[int] | None = None,
    dry_run: bool = False,
    message: str | None = None,
    **actor: Unpack[Actor],
) -> RecoveryResult:
    """Take back the jobs of dead workers; audited if ``by`` names a user."""


@verb(safe=True, control=True)
def sweep(grace: timedelta = timedelta(0)) -> Sweep:
    """Declare late workers dead; return them, and the tenants in which they left jobs."""


@verb(safe=True)
def prune(
    keep: Annotated[Mapping[State, timedelta], Parameter("jsonb", _encode_durations)],
    *,
    keep_events: timedelta | None = None,
    n: Int4 = 1000,
) -> Pruned: ...


@verb(safe=True)
def prune_records(
    *, keep_records: timedelta | None = None, keep_audit: timedelta | None = None
) -> PrunedRecords: ...


@verb(safe=True)
def roll_up(n: Int4 = 10_000, *, every: timedelta = timedelta(0)) -> RolledUp: ...


@verb(safe=True)
def enforce_policies(n: Int4 = 100, *, every: timedelta = timedelta(0)) -> Enforced: ...


@verb(safe=True)
def advance_bulk(n: Int4 = 100, *, bulk: int | None = None) -> Bulk | None:
    """Advance this bulk operation, or the oldest open one.

    Return None if there is none, or if another worker advances it at the moment.
    """


@verb(safe=True)
def discards(n: Int4 = 50) -> tuple[PendingDiscard, ...]: ...


@verb(safe=True)
def discarded(job: int, urls: Sequence[str], *, error: str | None = None) -> dict[str, Any]: ...
