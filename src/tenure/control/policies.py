"""Stops that a policy carries out later."""

from datetime import datetime

from tenure.control.operation import Operation
from tenure.domain.lifecycle import Intent
from tenure.store.calls import policy_calls
from tenure.store.policy_results import Policy


def stop_at(
    job: int,
    at: datetime,
    intent: Intent = Intent.CANCEL,
    reason: str | None = None,
    *,
    strategy: str | None = None,
    by: str | None = None,
) -> Operation[Policy]:
    """Stop a job at this time if it has not ended by then; a later call changes the time.

    The policy is dropped when it has acted. Until then ``drop_policy`` with its name revokes it.
    """
    spec = {
        "filter": {"id": job},
        "when": {"at": at},
        "intent": intent,
        "strategy": strategy,
        "reason": reason,
    }
    policy: Policy = yield policy_calls.set_policy(f"{intent}-at:{job}", spec, by=by)
    return policy
