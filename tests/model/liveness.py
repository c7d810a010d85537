"""After faults stop, everything reaches an end or waits for a reason that can be named."""

from datetime import timedelta
from uuid import UUID

from tenure.domain.lifecycle import Reason, State
from tenure.store.outcomes import Ending
from tests.model.player import Player
from tests.model.snapshot import JobRow, Snapshot
from tests.model.violations import require

_LAST = UUID(int=10**9)
_RESUMES = 3  # of one job; whatever fails for ever must not keep us for ever
# What explain calls the reasons that may remain when nobody does anything any more.
_NAMES = {
    Reason.DEPENDENCIES: "dependency",
    Reason.TASKS: "tasks",
    Reason.CHILDREN: "tasks",
    Reason.TARGET: "target",
    Reason.EVENT: "event",
    Reason.ANSWER: "answer",
    Reason.LIMIT: "limit",
}


def check(play: Player) -> None:
    _bury_everybody(play)
    for subject in sorted(play.model.pauses):
        play.set_pause("resume_dispatch", subject)
    play.register(timedelta(hours=10), _LAST)
    resumed: dict[int, int] = {}
    for _ in range(60):
        moved = [_move_on(play, resumed), _work(play)]
        if not any(moved):
            break
    else:
        raise AssertionError("there is always something to do")
    _everything_is_over(play)


def _bury_everybody(play: Player) -> None:
    for _ in range(8):
        play.advance(timedelta(seconds=35))
        play.recover()
    living = [life.id for life in play.seen.lives if life.dead_at is None]
    require(not living, "L1", f"workers {living} were never declared dead")
    running = [row.id for row in play.seen.rows if row.state is State.RUNNING]
    require(not running, "L1", f"jobs {running} of dead workers still run")


def _move_on(play: Player, resumed: dict[int, int]) -> bool:
    """Queue what nobody queued, resume what is paused or failed; parents first."""
    moved = False
    for row in sorted(play.seen.rows, key=lambda row: row.id):
        now = play.seen.jobs[row.id]
        if now.waiting is Reason.UNQUEUED:
            play.control("queue", row.id)
            moved = True
        elif now.state in (State.PAUSED, State.FAILED) and resumed.get(row.id, 0) < _RESUMES:
            resumed[row.id] = resumed.get(row.id, 0) + 1
            moved |= play.control("resume", row.id).error is None
    return moved


def _work(play: Player) -> bool:
    play.promote_all()
    play.advance(timedelta(seconds=60))
    play.promote_all()
    done = False
    while jobs := play.claim(_LAST, 10).answer.jobs:
        endings = [Ending(job=job.id, token=job.token, outcome="completed") for job in jobs]
        play.conclude("finish", _LAST, endings)
        play.promote_all()
        done = True
    return done


def _name(now: Snapshot, row: JobRow) -> str | None:
    """Return what explain calls the reason for which a job waits.

    The model gives a slot back for an event also where the job has asked a question. What is open
    decides then: its answer continues the job.
    """
    reason = row.waiting
    if reason in (Reason.EVENT, Reason.ANSWER):
        opened = [one for one in now.step_rows if one.job_id == row.id and one.is_open]
        reason = {"question": Reason.ANSWER, "event": Reason.EVENT}.get(
            opened[0].kind if opened else "", reason
        )
    return _NAMES.get(reason) if reason else None


def _everything_is_over(play: Player) -> None:
    now = play.seen
    for row in now.rows:
        if row.is_over or row.state is State.PAUSED:
            continue
        require(row.state is State.PENDING and not row.ready, "L1", f"job {row.id} never ran")
        told = {one.reason for one in play.store.explain(row.id).reasons}
        name = _name(now, row)
        require(name in told, "L1", f"job {row.id} waits for {row.waiting}; explain says {told}")
    opened = [record.id for record in now.records if record.completed_at is None]
    require(not opened, "L1", f"cancellation records {opened} were never closed")
