"""What promote may decide, and that it forgets nobody."""

from tenure.domain.lifecycle import Reason, State
from tenure.store.results import Promoted
from tests.model import granting
from tests.model.keeping import has_to_wait
from tests.model.model import Act, Model, satisfies
from tests.model.snapshot import JobRow, Snapshot, moves, runs_below
from tests.model.violations import require

_OPEN = {State.PENDING, State.RUNNING, State.PAUSED}


def check(model: Model, before: Snapshot, act: Act, after: Snapshot) -> None:
    """Only by rule: from what it needs, from its tasks, or from a stop above it."""
    for job, (_, end) in moves(before, after).items():
        old, known = before.jobs[job], model.jobs[job]
        family = {row.state for row in after.children(job)}
        over = bool(family) and not known.has_code and not family & _OPEN
        stopped = old.stop_id is not None or any(
            row.stop_id is not None or row.state is State.CANCELLED for row in after.above(job)
        )
        doomed = any(
            policy == "fail" and after.jobs[needed].state in (State.FAILED, State.CANCELLED)
            for needed, policy in known.needs.items()
            if needed in after.jobs
        )
        right = {
            State.COMPLETED: over and family == {State.COMPLETED},
            State.FAILED: doomed or (over and State.FAILED in family),
            State.CANCELLED: stopped or (over and State.CANCELLED in family),
            State.PAUSED: stopped,
        }[end]
        require(right, "promote", f"job {job} became {end} with children {sorted(family)}")
    if not has_moved(act.answer):
        _nothing_forgotten(model, before, after)


def has_moved(done: Promoted) -> bool:
    """Tell whether promote found something to do."""
    return bool(
        done.published or done.linked or done.due or done.targets or done.limits or done.closed
    )


def _nothing_forgotten(model: Model, before: Snapshot, after: Snapshot) -> None:
    """No wake-up is lost: when promote finds nothing more, every waiting job has a reason."""
    for row in after.rows:
        if row.state is not State.PENDING or row.ready:
            continue
        right = _has_to_wait(model, before, after, row)
        require(right, "wake", f"job {row.id} waits for {row.waiting}, but need not")
    opened = {one.stop_id for one in after.members if one.became is None}
    for record in after.records:
        closed = record.completed_at is not None
        require(closed or record.id in opened, "wake", f"record {record.id} stays open")


def _has_to_wait(model: Model, before: Snapshot, after: Snapshot, row: JobRow) -> bool:
    match row.waiting:
        case Reason.UNQUEUED:
            return row.run_at is None
        case Reason.TIME:
            return row.run_at is not None and row.run_at > before.now
        case Reason.DEPENDENCIES:
            return any(
                not satisfies(after.jobs[edge.needs_id].state, edge.policy)
                for edge in after.edges
                if edge.job_id == row.id
            )
        case Reason.TARGET:
            paused = ("target", row.target) in after.pauses
            others = after.of_target(row.target or "")
            return paused or any(one.blocks for one in others if one.id != row.id)
        case Reason.TASKS | Reason.CHILDREN:
            if row.stop_id is not None:
                return runs_below(after, row.id)
            # All below it: a child with code that has ended may have left some that have not.
            family = list(after.below(row.id))
            code = model.jobs[row.id].has_code
            return (not family and not code) or any(not one.is_over for one in family)
        case Reason.LIMIT:
            return granting.has_to_wait(model, before)
        case Reason.EVENT | Reason.ANSWER:
            return has_to_wait(after, before.now, row.id)
    return False
