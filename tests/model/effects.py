"""What each verb must do, may do, and must leave alone."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from uuid import UUID

from tenure.domain.lifecycle import ENDED, TRANSITIONS, Intent, Reason, State, Verb
from tenure.errors import InputRefused, KeyTaken
from tests.model import entering, keeping, promoting
from tests.model.model import Act, Model
from tests.model.snapshot import JobRow, Snapshot, moves, runs_below
from tests.model.violations import require

Note = tuple[str, str, str]  # verb, subject, name
_PROBATION = timedelta(seconds=30)


def accepted(act: Act) -> set[int]:
    """The jobs for which a worker's word was taken."""
    if act.error is not None:
        return set()
    match act.verb:
        case "claim":
            return {job.id for job in act.answer.jobs}
        case "finish" | "crash" | "release" | "report":
            return set(act.answer.accepted)
    return set()


def born(act: Act) -> set[int]:
    if act.error is not None:
        return set()
    match act.verb:
        case "enqueue":
            return {answer.id for answer in act.answer if answer.created}
        case "enqueue_many":
            return set(act.answer)
        case "rerun":
            return {act.answer.id}
    return set()


def notes(model: Model, before: Snapshot, act: Act) -> list[Note]:
    """What the act has to leave in the audit."""
    if act.error is not None:
        return []
    match act.verb:
        case "stop" if act.answer.again:
            job = before.jobs[_job(act)]
            if job.state is State.CANCELLED:
                return []  # there is nothing left to force
            record = next(one for one in before.records if one.id == job.stop_id)
            harder = act.options["force"] and not record.force
            return [("force", "job", str(act.job))] if harder else []
        case "stop":
            return [(str(act.options["intent"]), "job", str(act.job))]
        case "resume" | "queue" | "rerun" | "answer":
            return [(act.verb, "job", str(act.job))]
        case "clear" if act.job is None:
            return [("clear", "target", act.options["target"])]
        case "clear":
            return [("clear", "job", str(act.job))]
        case "pause_dispatch" | "resume_dispatch":
            verb = act.verb.removesuffix("_dispatch")
            done = act.answer[f"{verb}d"]
            return [(verb, *act.options["subject"])] if done else []
        case "drain":
            return [("drain", "worker", str(act.worker))]
        case "enqueue":
            return [("cancel", "job", str(job)) for job in entering.replaced(model, act)]
    return []


def refusals(model: Model, before: Snapshot, act: Act, after: Snapshot) -> None:
    """What is refused has a reason that one can see, and changes nothing."""
    if act.error is None:
        return
    expected = isinstance(act.error, InputRefused)
    require(expected, "constraints", f"{act.verb} raised {act.error!r}")
    require(after.unchanged_since(before), "I2", f"{act.verb} was refused and changed something")
    if act.verb == "enqueue":
        entering.refused(model, before, act)
        return
    if act.verb == "clear" and act.job is None:
        failed = [row.id for row in before.of_target(act.options["target"]) if _has_failed(row)]
        require(any(_lives_below(before, job) for job in failed), "table", f"{act.error}")
        return
    row = before.jobs[_job(act)]
    match act.verb:
        case "stop":
            ok = row.state in ENDED or (
                act.options["intent"] is Intent.PAUSE
                and (row.state is State.PAUSED or row.intent is Intent.CANCEL)
            )
        case "resume":
            held = any(
                one.state in (State.PAUSED, State.CANCELLED) or one.stop_id is not None
                for one in before.above(row.id)
            )
            ok = row.state not in (State.PAUSED, State.FAILED) or held
            ok = ok or isinstance(act.error, KeyTaken) or model.is_overspent(row.id)
        case "clear":
            ok = not _has_failed(row) or _lives_below(before, row.id)
        case "queue":
            ok = row.waiting is not Reason.UNQUEUED
        case "rerun":
            ok = row.task is None
        case "answer" | "await_step":
            ok = keeping.refused(before, act)
        case _:
            ok = False
    require(ok, "table", f"{act.verb} of job {row.id}, {row.state}, was refused: {act.error}")


def _has_failed(row: JobRow) -> bool:
    return row.state is State.FAILED


def _lives_below(now: Snapshot, job: int) -> bool:
    return any(not row.is_over for row in now.below(job))


def of_act(model: Model, before: Snapshot, act: Act, after: Snapshot) -> None:
    if act.error is None and act.verb in _EFFECTS:
        _EFFECTS[act.verb](model, before, act, after)


def _claim(model: Model, before: Snapshot, act: Act, after: Snapshot) -> None:
    """I3, I5, I6, I9."""
    claimed = act.answer.jobs
    worker = before.workers[_worker(act)]
    may = worker.dead_at is None and worker.draining_at is None
    require(act.answer.alive == (worker.dead_at is None), "I7", "claim is wrong about a death")
    require(len(claimed) <= act.options["n"], "claim", "more was claimed than asked for")
    require(not claimed or (may and worker.expires_at > before.now), "I5", "a late worker claimed")
    require(set(moves(before, after)) == {job.id for job in claimed}, "I5", "claim moved others")
    for job in claimed:
        old, row, known = before.jobs[job.id], after.jobs[job.id], model.jobs[job.id]
        require(old.ready, "I5", f"job {job.id} was claimed, but was not ready")
        require(_is_open(before, old, act), "I5", f"job {job.id} was claimed while paused")
        held = (row.worker_id, row.token) == (act.worker, job.token)
        require(held, "I3", f"job {job.id} is not held by the worker that claimed it")
        require(job.token not in known.tokens, "I3", f"job {job.id} had token {job.token} before")
        require(row.attempt == known.attempts + 1, "I6", f"claim of {job.id} spent no attempt")
        if old.target is not None:
            require(old.holds, "I8", f"job {job.id} was claimed without its target")
    if may and worker.expires_at > after.now and act.options["floors"] is None:
        left = [row for row in after.rows if row.ready and _is_open(before, row, act)]
        require(not left or len(claimed) == act.options["n"], "claim", f"{left} was left lying")
        for row in left:
            last = min((one.priority, -(after.jobs[one.id].position or 0)) for one in claimed)
            overtaken = (row.priority, -(row.position or 0)) > last
            require(not overtaken, "claim", f"job {row.id} was overtaken")


def _is_open(now: Snapshot, row: JobRow, act: Act) -> bool:
    queues = act.options["queues"]
    return (queues is None or row.queue in queues) and not {
        ("tenant", ""),
        ("queue", row.queue),
        ("target", row.target or "?"),
    } & set(now.pauses)


def _conclude(model: Model, before: Snapshot, act: Act, after: Snapshot) -> None:
    """I1, I3, I6: only the holder of the fence may end a job, by the rules."""
    taken: Mapping[int, State] = act.answer.accepted
    require(not act.answer.busy, "I3", "busy, though nobody else is there")
    require(set(moves(before, after)) == set(taken), "I3", f"{act.verb} moved others")
    refused = 0
    for job, ending in act.said.items():
        current = model.is_current(act.worker, job, ending.token)
        where = f"{act.verb} of job {job} by {'its' if current else 'no'} holder"
        require((job in taken) == current, "I3", f"{where} was accepted: {not current}")
        require((job in act.answer.refused) != current, "I3", f"{where} was refused: {current}")
        if current:
            how = {"crash": "crashed", "release": "released"}.get(act.verb, ending.outcome)
            _judge(model, before, after, job, how, model.judged(job, ending, how))
            _keep(before, after, job, ending.value)
        elif job in after.jobs:
            repeated = job in act.answer.repeated
            known = not repeated or ending.token in model.jobs[job].tokens
            require(known, "I3", f"{where} counts as said before")
            refused += not repeated
            require(after.jobs[job].kept == before.jobs[job].kept, "I3", f"{where} was written")
    require(after.refusals - before.refusals == refused, "I3", "a refused write was not counted")


def _judge(model: Model, before: Snapshot, after: Snapshot, job: int, how: str, verb: Verb) -> None:
    old, row = before.jobs[job], after.jobs[job]
    want = TRANSITIONS[State.RUNNING, verb]
    if model.jobs[job].stop is not None and verb in (Verb.CANCEL, Verb.PAUSE):
        # Cancelled is never said too early: it waits, marked, for what runs below it. What ends
        # below it in the same call may or may not have been seen.
        waits = row.state is State.PENDING and row.stop_id is not None
        if runs_below(after, job) or (waits and runs_below(before, job)):
            want = State.PENDING
    require(row.state is want, "I1", f"job {job} {how} became {row.state}, not {want}")
    given_back = verb is Verb.RELEASE
    require(row.attempt == old.attempt - given_back, "I6", f"job {job} {how}: wrong attempts")
    crashed = how in ("crashed", "expired")
    require(row.crashes == old.crashes + crashed, "I6", f"job {job} {how}: wrong crashes")


def _keep(before: Snapshot, after: Snapshot, job: int, value: object) -> None:
    old, row = before.jobs[job], after.jobs[job]
    if row.state is State.COMPLETED:
        require(row.result == value, "I1", f"job {job} returned {value}, kept is {row.result}")
    elif value is not None:
        require(row.partials == old.partials + 1, "I1", f"what job {job} returned was lost")


def _report(model: Model, before: Snapshot, act: Act, after: Snapshot) -> None:
    require(not moves(before, after), "I2", "a report moved a job")
    require(not act.answer.busy, "I3", "busy, though nobody else is there")
    for job, said in act.said.items():
        current = model.is_current(act.worker, job, said.token)
        taken = job in act.answer.accepted
        require(taken == current, "I3", f"a report for job {job} was accepted: {taken}")
        old, row = before.jobs[job], after.jobs[job]
        if current:
            grown = row.partials == old.partials + len(said.partials)
            require(grown, "I3", f"partials of job {job} were lost")
            require(row.checkpoint == (said.checkpoint or old.checkpoint), "I3", "no checkpoint")
        else:
            require(row.kept == old.kept, "I3", f"a refused report for job {job} was written")
        over = any(one.job_id == job for one in act.answer.exhausted)
        if said.spent:
            require(over == model.is_overspent(job), "budget", f"job {job} exhausted: {over}")


def _recover(model: Model, before: Snapshot, act: Act, after: Snapshot) -> None:
    """I7: exactly the jobs of the dead are taken back, and judged by the rules."""
    moved = dict(moves(before, after))
    only, dry = act.options["ids"], act.options["dry_run"]
    for row in before.rows:
        if row.state is not State.RUNNING or row.worker_id is None:
            continue
        dead = after.workers[row.worker_id].dead_at is not None
        due = dead and not dry and (only is None or row.id in only)
        require((row.id in moved) == due, "I7", f"job {row.id} of a worker, dead: {dead}")
        if due:
            charged = _is_charged(before, row)
            verb = model.judged(row.id, None, "expired", charged=charged)
            _judge(model, before, after, row.id, "expired", verb)
            require(after.jobs[row.id].alone, "I6", f"job {row.id} outlived its worker unsuspected")
            del moved[row.id]
    stale = set() if dry else set(act.answer.stale)
    require(set(moved) == stale, "I7", f"recover moved {set(moved)}")
    for job in stale:
        old = before.jobs[job]
        require(old.ready and old.started_at is None, "I7", f"job {job} was not stale")


def _is_charged(before: Snapshot, row: JobRow) -> bool:
    """I6: the death of a worker is charged to the suspects that it can be blamed on."""
    assert row.worker_id is not None
    assert row.started_at is not None
    suspects = [
        one
        for one in before.rows
        if one.alone and one.worker_id == row.worker_id and one.state is State.RUNNING
    ]
    if row not in suspects:
        return False
    if suspects == [row] or row.crashes - row.attempt >= 2:
        return True
    since = row.started_at - _PROBATION
    beside = [
        one
        for one in suspects
        if one is not row and one.crashes > one.attempt
        if one.started_at is not None and since <= one.started_at <= row.started_at
    ]
    has_just_started = row.started_at > before.workers[row.worker_id].beat_at - _PROBATION
    return row.crashes > row.attempt and has_just_started and not beside


def _stop(model: Model, before: Snapshot, act: Act, after: Snapshot) -> None:
    """The whole tree is stopped or marked; what is not of it is left alone."""
    chosen, intent = before.jobs[_job(act)], act.options["intent"]
    if act.answer.again:
        require(not moves(before, after), "stop", "asking again moved something")
        return
    record = after.records[-1].id
    require(len(after.records) == len(before.records) + 1, "stop", "a stop has one record")
    final = State.CANCELLED if intent is Intent.CANCEL else State.PAUSED
    cascade = act.options["cascade"] and intent is Intent.CANCEL
    reached = before.reach(chosen.id, dependents=cascade)
    require(set(moves(before, after)) <= reached, "stop", "a stop reached too far")
    for job in reached:
        old, row = before.jobs[job], after.jobs[job]
        marked = row.stop_id == record or (row.intent is Intent.CANCEL and final is State.PAUSED)
        if old.state is State.RUNNING or (old.state is State.PENDING and runs_below(before, job)):
            stopped = row.state is old.state and marked
        elif old.state is State.PENDING or (old.state is State.PAUSED and final != State.PAUSED):
            stopped = row.state is final
        else:
            stopped = row.state is old.state
        require(stopped, "stop", f"job {job} was {old.state}, is {row.state} and is not stopped")


def _resume(model: Model, before: Snapshot, act: Act, after: Snapshot) -> None:
    job = _job(act)
    family = {job, *(row.id for row in (*before.above(job), *before.below(job)))}
    moved = set(moves(before, after))
    require(job in moved and moved <= family, "I2", f"resume of job {job} moved {moved}")
    require(not model.is_overspent(job), "budget", f"job {job} was resumed and is overspent")
    for one in moved:
        row = after.jobs[one]
        require(row.attempt == 0 or row.task is None, "resume", f"job {one} has no fresh retries")
        require(row.stop_id is None, "resume", f"job {one} is still being stopped")
        require(row.holds == before.jobs[one].holds, "resume", f"job {one} lost its place")


def _clear(model: Model, before: Snapshot, act: Act, after: Snapshot) -> None:
    moved = set(moves(before, after))
    target = act.options.get("target")
    wanted = {act.job} if target is None else {
        row.id for row in before.of_target(target) if row.state is State.FAILED
    }  # fmt: skip
    require(moved == wanted, "I2", f"clear took {moved} instead of {wanted}")


def _prune(model: Model, before: Snapshot, act: Act, after: Snapshot) -> None:
    """Only whole trees that are over and that nobody needs."""
    gone = set(before.jobs) - set(after.jobs)
    require(act.answer.jobs == len(gone), "I10", "prune counted wrong")
    for job in gone:
        row = before.jobs[job]
        tree = {one.id for one in before.rows if one.root_id == row.root_id}
        require(row.is_over and tree <= gone, "I10", f"prune took a part of tree {row.root_id}")
        require(not row.blocks, "I10", f"job {job} blocked its target and was pruned")
        needed = [edge.job_id for edge in before.edges if edge.needs_id == job]
        require(not needed, "I10", f"job {job} is needed by {needed} and was pruned")


def _rerun(model: Model, before: Snapshot, act: Act, after: Snapshot) -> None:
    row, old = after.jobs[act.answer.id], before.jobs[_job(act)]
    same = (row.task, row.queue, row.target, row.priority) == (
        old.task, old.queue, old.target, old.priority)  # fmt: skip
    require(same and row.state is State.PENDING, "I10", f"job {row.id} is no rerun of {old.id}")


def _renew(model: Model, before: Snapshot, act: Act, after: Snapshot) -> None:
    worker = _worker(act)
    dead = before.workers[worker].dead_at is not None
    require(act.answer.alive != dead, "I7", "renew is wrong about a death")
    heard = {(one.job_id, one.token) for one in act.answer.signals}
    told = {(one.job_id, one.token) for one in before.signals if one.worker_id == worker}
    require(heard == (set() if dead else told), "stop", "a renewal brought other signals")


def _job(act: Act) -> int:
    assert act.job is not None
    return act.job


def _worker(act: Act) -> UUID:
    assert act.worker is not None
    return act.worker


_EFFECTS: Mapping[str, Callable[[Model, Snapshot, Act, Snapshot], None]] = {
    "claim": _claim,
    "finish": _conclude,
    "crash": _conclude,
    "release": _conclude,
    "report": _report,
    "recover": _recover,
    "stop": _stop,
    "resume": _resume,
    "clear": _clear,
    "promote": promoting.check,
    "prune": _prune,
    "rerun": _rerun,
    "renew": _renew,
    "enqueue": entering.check,
}
