"""I12: what is kept stays kept; one answer; each event once."""

from typing import Any

from tenure.domain.lifecycle import ENDED, Intent
from tests.model.model import Act, Model
from tests.model.snapshot import Snapshot, StepRow
from tests.model.violations import require


def check(model: Model, before: Snapshot, act: Act, after: Snapshot) -> None:
    """I12: between two acts, for every step and wait of every job."""
    for key, old in before.steps.items():
        new = after.steps.get(key)
        if not old.is_kept or old.job_id not in after.jobs or _may_forget(before, act, old):
            continue
        require(new is not None, "I12", f"{act.verb} forgot step {key}")
        require(new == old, "I12", f"{act.verb} changed step {key}, which was kept: {old} {new}")
    for key, row in after.steps.items():
        came = before.steps.get(key) != row
        writes = ("report", "await_step", "answer", "promote", "rerun", "resume")
        require(not came or act.verb in writes, "I12", f"{act.verb} wrote step {key}")
        if came and act.verb == "report":
            require(row.job_id in act.answer.accepted, "I3", f"a late report wrote step {key}")
    got = [(row.job_id, row.publication_id) for row in after.steps.values() if row.publication_id]
    require(len(got) == len(set(got)), "I12", f"a job got an event twice: {sorted(got)}")
    if act.verb == "answer" and act.error is None:
        _answered(before, act, after)


def refused(before: Snapshot, act: Act) -> bool:
    """Tell whether an answer or a wait had to be refused."""
    assert act.job is not None
    job = before.jobs[act.job]
    if act.verb == "await_step":
        fence = (act.worker, act.options["token"])
        return (job.worker_id, job.token) != fence
    open_ = _open(before, act.job)
    is_late = open_ is None or (open_.due_at is not None and open_.due_at <= before.now)
    return is_late or job.state in ENDED or job.intent is Intent.CANCEL


def has_to_wait(after: Snapshot, now: Any, job: int) -> bool:
    """Tell whether a job that waits for an event or an answer has not got it."""
    row = after.jobs[job]
    open_ = next((one for one in after.steps.values() if one.job_id == job and one.is_open), None)
    if open_ is None or row.run_at is None or row.run_at <= now:
        return False
    got = {one.publication_id for one in after.steps.values() if one.job_id == job}
    ready = [one.id for one in after.publications if open_.event == one.name and one.id not in got]
    return not ready


def _may_forget(before: Snapshot, act: Act, old: StepRow) -> bool:
    """Tell whether this step may be written again: changed, or with all forgotten."""
    if act.error is not None:
        return False
    if act.verb == "report":
        return old.job_id in act.answer.accepted and any(
            step["name"] == old.name and step["digest"] != old.digest
            for step in _steps_of(act, old.job_id)
        )
    if act.verb == "await_step":
        same = (act.job, act.options["name"]) == (old.job_id, old.name)
        return same and act.options["digest"] != old.digest
    return act.verb == "resume" and bool(act.options.get("fresh"))


def _steps_of(act: Act, job: int) -> list[dict[str, Any]]:
    return list(act.said[job].steps) if job in act.said else []


def _answered(before: Snapshot, act: Act, after: Snapshot) -> None:
    assert act.job is not None
    old = _open(before, act.job)
    require(old is not None, "I12", f"job {act.job} took an answer without an open question")
    assert old is not None
    new = after.steps[old.job_id, old.name]
    require(new.is_kept and new.value == {"ok": True}, "I12", f"the answer of {old} was lost")


def _open(now: Snapshot, job: int) -> StepRow | None:
    rows = [row for row in now.steps.values() if row.job_id == job and row.kind == "question"]
    return next((row for row in rows if row.is_open), None)
