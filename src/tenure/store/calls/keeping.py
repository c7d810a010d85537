"""Keeping house: the dead and the old."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from tenure.domain.lifecycle import State
from tenure.store.call import Argument, Call, answer
from tenure.store.calls.arguments import actor, as_list
from tenure.store.new_jobs import as_json
from tenure.store.results import Pruned, PrunedRecords, Recovery


def recover(
    *,
    grace: timedelta = timedelta(0),
    orphan_after: timedelta = timedelta(minutes=2),
    pending_after: timedelta | None = None,
    jobs: Sequence[int] | None = None,
    dry_run: bool = False,
    message: str | None = None,
    by: str | None = None,
    via: str = "python",
) -> Call[Recovery]:
    """Somebody who is named is on record."""
    arguments = {
        "grace": Argument(grace, "interval"),
        "orphan_after": Argument(orphan_after, "interval"),
        "pending_after": Argument(pending_after, "interval"),
        "ids": Argument(as_list(jobs), "int8[]"),
        "dry_run": Argument(dry_run, "bool"),
        **actor(by, via),
    }
    if message is not None:
        arguments["message"] = Argument(message, "text")
    return Call("recover", arguments, answer(Recovery), safe=True)


def prune(
    keep: Mapping[State, timedelta],
    *,
    keep_events: timedelta | None = None,
    n: int = 1000,
) -> Call[Pruned]:
    seconds = {str(state): f"{span.total_seconds()} seconds" for state, span in keep.items()}
    return Call(
        "prune",
        {
            "keep": Argument(as_json(seconds), "jsonb"),
            "keep_events": Argument(keep_events, "interval"),
            "n": Argument(n, "int4"),
        },
        answer(Pruned),
        safe=True,
    )


def prune_records(
    *, keep_records: timedelta | None = None, keep_audit: timedelta | None = None
) -> Call[PrunedRecords]:
    return Call(
        "prune_records",
        {
            "keep_records": Argument(keep_records, "interval"),
            "keep_audit": Argument(keep_audit, "interval"),
        },
        answer(PrunedRecords),
        safe=True,
    )
