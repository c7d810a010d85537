"""The invariants, checked after every act against the database and the model.

I2, I4, I7, I8, I10 and I11 relate two moments to each other; what each verb must and must not do by
itself is in `effects`. I3, I5 and I6 are in both.
"""

from collections import Counter
from collections.abc import Callable

from tenure.domain.lifecycle import TRANSITIONS, Reason, State, Verb
from tests.model import effects, granting, keeping
from tests.model.model import Act, Model
from tests.model.snapshot import JobRow, Snapshot, moves
from tests.model.violations import require

_PENDING = frozenset({State.PENDING})
_RUNNING = frozenset({State.RUNNING})
_ENDINGS = frozenset({Verb.COMPLETE, Verb.FAIL, Verb.RETRY, Verb.RELEASE, Verb.CANCEL, Verb.PAUSE})

# Which of the transitions an act may make; an act that is not here makes none.
MAKES: dict[str, tuple[frozenset[State], frozenset[Verb]]] = {
    "claim": (_PENDING, frozenset({Verb.CLAIM})),
    "finish": (_RUNNING, _ENDINGS),
    "crash": (_RUNNING, _ENDINGS - {Verb.COMPLETE, Verb.RELEASE}),
    "release": (_RUNNING, _ENDINGS - {Verb.COMPLETE, Verb.RETRY}),
    "recover": (_PENDING | _RUNNING, _ENDINGS - {Verb.COMPLETE}),
    "promote": (_PENDING, frozenset({Verb.COMPLETE, Verb.FAIL, Verb.CANCEL, Verb.PAUSE})),
    "stop": (_PENDING | {State.PAUSED}, frozenset({Verb.CANCEL, Verb.PAUSE})),
    "enqueue": (_PENDING | {State.PAUSED}, frozenset({Verb.CANCEL})),
    "resume": (frozenset({State.PAUSED, State.FAILED}), frozenset({Verb.RESUME})),
    "clear": (frozenset({State.FAILED}), frozenset({Verb.CLEAR})),
}
_LEAVING = {  # what leaves these states needs such a row of the audit
    (State.FAILED, State.PENDING): "resume",
    (State.FAILED, State.CANCELLED): "clear",
    (State.PAUSED, State.PENDING): "resume",
    (State.PAUSED, State.CANCELLED): "cancel",
}


def transitions(model: Model, before: Snapshot, act: Act, after: Snapshot) -> None:
    """I2, and every transition seen is one of the table."""
    starts, verbs = MAKES.get(act.verb, (frozenset(), frozenset()))
    possible = {
        (start, end)
        for (start, verb), end in TRANSITIONS.items()
        if start in starts and verb in verbs
    }
    noted = [note.verb for note in after.audit[len(before.audit) :]]
    for job, move in moves(before, after).items():
        require(move in possible, "I2", f"{act.verb} took job {job} from {move[0]} to {move[1]}")
        if move in _LEAVING:
            require(
                noted.count(_LEAVING[move]) == 1,
                "I2",
                f"job {job} went from {move[0]} to {move[1]} without its row in the audit",
            )


def fences(model: Model, before: Snapshot, act: Act, after: Snapshot) -> None:
    """I1, I3, I6: a token and an attempt come with a claim; a result comes once."""
    for row in after.rows:
        old = before.jobs.get(row.id)
        known = model.jobs.get(row.id)
        if old is None or known is None:
            continue
        if act.verb != "claim":
            require(row.token == old.token, "I3", f"{act.verb} changed the token of job {row.id}")
        require(0 <= row.attempt <= row.max_attempts, "I6", f"{row.attempt} attempts of {row.id}")
        if State.COMPLETED in (old.state, row.state):
            done = row.state is State.COMPLETED
            require(done, "I1", f"job {row.id} was completed, and is {row.state}")
            if old.state is row.state:
                require(row.kept == old.kept, "I1", f"the result of job {row.id} changed")
        else:
            require(row.result is None, "I1", f"job {row.id} is {row.state} and has a result")


def cancelled_for_good(model: Model, before: Snapshot, act: Act, after: Snapshot) -> None:
    """I4: nothing is accepted, claimed or made ready at or below a cancelled job."""
    for old in before.rows:
        row = after.jobs.get(old.id)
        if row is None:
            continue
        over = [one.id for one in (old, *before.above(old.id)) if one.state is State.CANCELLED]
        if not over:
            continue
        where = f"job {row.id}, at or below cancelled job {over[0]}"
        require(not row.ready, "I4", f"{where}, is ready")
        require(row.id not in effects.accepted(act), "I4", f"{act.verb} was accepted for {where}")
        if old.state is State.CANCELLED:
            require(row.kept == old.kept, "I4", f"{where}, was written")
    for job, (_, end) in moves(before, after).items():
        if end is State.CANCELLED:
            runs = [one.id for one in after.below(job) if one.state is State.RUNNING]
            require(not runs, "I4", f"{act.verb} cancelled job {job} while {runs} run below")


def deaths(model: Model, before: Snapshot, act: Act, after: Snapshot) -> None:
    """I7: death comes once, from a sweep after the lease or from the worker itself."""
    for life in after.lives:
        old = before.workers.get(life.id)
        if old is None:
            continue
        if old.dead_at is not None:
            require(life == old, "I7", f"the row of dead worker {life.id} changed")
        elif life.dead_at is not None:
            left = act.verb == "leave" and act.worker == life.id
            swept = act.verb == "recover" and old.expires_at < after.now
            require(left or swept, "I7", f"{act.verb} declared worker {life.id} dead")


def ready(model: Model, before: Snapshot, act: Act, after: Snapshot) -> None:
    """I5, I9: what is ready is due, unblocked and wanted."""
    for row in after.rows:
        if not row.ready:
            continue
        why = _unclaimable(model, after, row)
        require(why is None, "I5", f"job {row.id} is ready, but {why}")


def _unclaimable(model: Model, now: Snapshot, row: JobRow) -> str | None:
    if row.stop_id is not None:
        return "is being stopped"
    if row.task is None:
        return "has no code"
    if row.run_at is None or row.run_at > model.latest:
        return "is not due"
    if row.id in model.jobs and not model.met(row.id):
        return "what it comes after is not over"
    if row.target is not None and any(
        other.holds or other.state is State.RUNNING
        for other in now.of_target(row.target)
        if other.id != row.id
    ):
        return "its target is taken"
    return None


def targets(model: Model, before: Snapshot, act: Act, after: Snapshot) -> None:
    """I8: one runs, in order, and only where nobody closes the target."""
    running = Counter(row.target for row in after.rows if row.state is State.RUNNING and row.target)
    for target, count in running.items():
        require(count == 1, "I8", f"{count} jobs of target {target} run")
    for row in after.rows:
        if row.target is None or row.id not in model.jobs:
            continue
        closes = model.jobs[row.id].closes_target(row.state, holds=row.holds)
        require(row.blocks == closes, "I8", f"job {row.id} is {row.state}: blocks is {row.blocks}")
        require(row.blocks or not row.holds, "I8", f"job {row.id} holds what it does not block")
        old = before.jobs.get(row.id)
        if row.holds and (old is None or not old.holds):
            require(act.verb == "promote", "I8", f"{act.verb} gave job {row.id} its target")
            _next_in_line(after, row)


def _next_in_line(now: Snapshot, head: JobRow) -> None:
    for other in now.of_target(head.target or ""):
        if other.id == head.id:
            continue
        closed = f"job {head.id} took target {head.target}, which job {other.id} closes"
        require(not other.blocks, "I8", closed)
        if other.waiting is Reason.TARGET:
            overtook = (other.priority, -other.id) > (head.priority, -head.id)
            require(not overtook, "I8", f"job {head.id} overtook job {other.id} in its line")


def nothing_lost(model: Model, before: Snapshot, act: Act, after: Snapshot) -> None:
    """I10: the jobs are exactly those asked for, as they were asked for."""
    born = effects.born(act)
    gone = set(before.jobs) - set(after.jobs)
    require(set(after.jobs) - set(before.jobs) == born, "I10", f"{act.verb} made other jobs")
    require(not gone or act.verb == "prune", "I10", f"{act.verb} lost jobs {gone}")
    for job, known in model.jobs.items():
        row = after.jobs.get(job)
        if row is None:
            continue
        asked = known.asked
        want = (asked.task, asked.queue, asked.priority, asked.target, known.parent,
                asked.max_attempts, asked.unique, asked.idempotency)  # fmt: skip
        have = (row.task, row.queue, row.priority, row.target, row.parent_id,
                row.max_attempts, row.unique_key, row.idempotency_key)  # fmt: skip
        require(want == have, "I10", f"job {job} was asked for as {want} and is {have}")
    # A key holds until its job is pruned.
    held = {row.idempotency_key: row.id for row in after.rows if row.idempotency_key}
    for key, job in model.keys.items():
        require(job in gone or held.get(key) == job, "I10", f"key {key} is not job {job}'s")


def audited(model: Model, before: Snapshot, act: Act, after: Snapshot) -> None:
    """I11: one row for every action from outside, with its actor; none for anything else."""
    fresh = after.audit[len(before.audit) :]
    require(after.audit[: len(before.audit)] == before.audit, "I11", "the audit was changed")
    have = [(note.verb, note.subject, note.name) for note in fresh]
    want = effects.notes(model, before, act)
    require(have == want, "I11", f"{act.verb} left {have} in the audit, not {want}")
    for note in fresh:
        right = note.actor == act.by if act.by else note.actor.startswith("db:")
        require(right, "I11", f"{act.verb} by {act.by} is on record as by {note.actor}")


def stops_are_heard(model: Model, before: Snapshot, act: Act, after: Snapshot) -> None:
    """A stop cannot be lost: what runs under one has its signal, and nothing else has."""
    want = {
        (row.worker_id, row.id, row.token)
        for row in after.rows
        if row.state is State.RUNNING and row.stop_id is not None
    }
    have = {(signal.worker_id, signal.job_id, signal.token) for signal in after.signals}
    require(want <= have, "stop", f"no signal for {want - have}")
    require(have <= want, "stop", f"signals for what is not being stopped: {have - want}")
    opened = {one.job_id for one in after.members if one.became is None}
    for row in after.rows:
        if row.stop_id is not None and row.state in (State.PENDING, State.RUNNING):
            require(row.id in opened, "stop", f"job {row.id} is no open member of its record")
        old = before.jobs.get(row.id)
        if old is not None and old.intent == "cancel" and old.state is State.RUNNING:
            kept = row.state is not State.RUNNING or row.intent == "cancel"
            require(kept, "stop", f"{act.verb} took the cancel from running job {row.id}")
            paused = row.state is State.PAUSED
            require(not paused, "stop", f"job {row.id} was being cancelled and is paused")


def books(model: Model, before: Snapshot, act: Act, after: Snapshot) -> None:
    """Spending is what was reported, late or not, for a job and all above it."""
    for one in after.spending:
        want = model.spent.get((one.job_id, one.unit), 0)
        require(one.amount == want, "budget", f"job {one.job_id} spent {one.amount}")


Check = Callable[[Model, Snapshot, Act, Snapshot], None]
CHECKS: tuple[Check, ...] = (
    effects.refusals,
    granting.check,
    transitions,
    fences,
    cancelled_for_good,
    deaths,
    nothing_lost,
    audited,
    effects.of_act,
    ready,
    targets,
    stops_are_heard,
    books,
    keeping.check,
)


def check(model: Model, before: Snapshot, act: Act, after: Snapshot) -> None:
    for one in CHECKS:
        one(model, before, act, after)
