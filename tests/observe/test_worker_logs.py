"""Everything that happens in a worker is in its log, and the line says what it is about."""

import re

from tenure.observe.logs import FIELDS
from tests.observe.scene import SECRET, Seen


def test_every_line_is_an_object_with_its_time_level_and_worker(seen: Seen) -> None:
    for line in seen.lines:
        assert set(line) - {"error"} <= {"time", "level", "logger", "message", *FIELDS}
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"])
        assert line["level"] in ("debug", "info", "warning", "error")
    begun = [line for line in seen.lines if "worker" in line]
    assert {line["worker"] for line in begun} == {seen.worker}
    assert seen.lines[-1] in begun


def test_a_claim_says_who_claimed_what(seen: Seen) -> None:
    job = seen.jobs["completed"]
    line = seen.said(f"worker {seen.worker} claimed job {job} ", job=job, level="debug")
    assert (line["tenant"], line["attempt"]) == ("default", 1)


def test_beats_are_logged_for_debugging(seen: Seen) -> None:
    seen.said(f"beat of worker {seen.worker}", level="debug")


def test_a_stop_is_logged_with_who_asked_and_why(seen: Seen) -> None:
    job, record = seen.jobs["interrupted"], seen.records["interrupted"]
    seen.said(
        f"stop of job {job} asked by ada: to see it interrupted",
        level="info",
        job=job,
        cancellation=record,
        attempt=1,
    )


def test_every_rung_is_logged(seen: Seen) -> None:
    job, record = seen.jobs["killed"], seen.records["killed"]
    for rung in ("asked", "interrupted", "terminated", "killed"):
        seen.said(f"job {job} is {rung}$", job=job, cancellation=record)


def test_signals_are_logged(seen: Seen) -> None:
    job = seen.jobs["killed"]
    seen.said(rf"SIGTERM to runner-[0-9a-f]+-\d+ \(pid \d+\) of job {job}", job=job)
    seen.said(rf"killing runner-[0-9a-f]+-\d+ \(pid \d+\) of job {job}", job=job, level="warning")


def test_a_forced_stop_is_logged_as_one_and_its_kill_at_warning(seen: Seen) -> None:
    job = seen.jobs["forced"]
    seen.said(f"stop of job {job} asked by ada: .* \\(forced\\)", job=job)
    seen.said(rf"killing runner-[0-9a-f]+-\d+ \(pid \d+\) of job {job}", level="warning", job=job)


def test_the_end_of_a_stop_is_logged(seen: Seen) -> None:
    for name, rung in (("interrupted", "interrupted"), ("paused", "interrupted")):
        job, record = seen.jobs[name], seen.records[name]
        seen.said(f"job {job} has stopped; it was {rung}", job=job, cancellation=record)


def test_clean_up_is_logged_and_what_failed_as_an_error(seen: Seen) -> None:
    job = seen.jobs["cleaned"]
    line = seen.said(f"cleaned up after job {job}: 2 closed, 1 closed by force, 1 failed", job=job)
    assert line["level"] == "error"
    assert line["message"].endswith("not at all: it cannot be closed")


def test_a_failed_attempt_is_logged_with_its_error(seen: Seen) -> None:
    job = seen.jobs["failed"]
    seen.said(f"job {job} failed: ValueError: it is broken", job=job, level="warning")
    job = seen.jobs["failed twice"]
    seen.said(f"job {job} is tried again at .*: OSError: the disk is full", job=job, attempt=1)
    seen.said(f"job {job} failed: OSError: the disk is full", job=job, attempt=2)


def test_a_timeout_and_a_crash_are_logged(seen: Seen) -> None:
    job = seen.jobs["timed out"]
    seen.said(f"job {job}: timeout of 200ms exceeded", job=job, level="warning")
    job = seen.jobs["crashed"]
    seen.said(
        rf"runner-[0-9a-f]+-\d+ \(pid \d+\) died: signal 6 .*; charged: job {job}", level="error"
    )


def test_a_blocked_loop_is_logged_with_its_stack(seen: Seen) -> None:
    job = seen.jobs["blocked"]
    line = seen.said(f"job {job} .*has blocked its event loop", job=job, level="warning")
    assert "in blocks" in line["message"]


def test_a_recovery_is_logged_with_what_is_known_of_the_dead_worker(seen: Seen) -> None:
    job = seen.jobs["recovered"]
    seen.said(f"worker {seen.dead} was killed on this host, and nothing of it is left")
    seen.said(
        rf"recovered job {job} of worker {seen.dead} \(host .+, pid \d+, last beat at .+\): it is",
        job=job,
        tenant="default",
        level="warning",
    )


def test_a_drain_is_logged_from_its_signal_to_the_end(seen: Seen) -> None:
    job = seen.jobs["drained"]
    seen.said("draining: SIGTERM; 1 jobs run", level="info")
    seen.said(f"job {job} is stopped and given back", job=job)
    assert seen.said(f"worker {seen.worker} has left; 1 jobs had to be stopped")


def test_what_a_killed_worker_left_is_logged(seen: Seen) -> None:
    seen.said(r"a worker that was killed on this host left \d+ processes", level="warning")


def test_dead_workers_of_other_projects_are_not_logged(seen: Seen) -> None:
    assert seen.stranger_is_cleared
    assert seen.stranger not in seen.text
    assert "stranger" not in seen.text


def test_an_attempt_is_logged_when_it_begins_and_when_it_ends(seen: Seen) -> None:
    job = seen.jobs["completed"]
    began = seen.said(rf"^job {job} begins: \S+, attempt 1$", job=job, level="info")
    ended = seen.said(
        rf"^job {job} completed \(\S+, attempt 1, after \d+\.\ds\)$", job=job, level="info"
    )
    assert seen.lines.index(began) < seen.lines.index(ended)
    assert sum(line["message"].startswith(f"job {job} ") for line in seen.lines) == 2


def test_a_secret_is_nowhere_in_the_log_and_no_argument_is(seen: Seen) -> None:
    job = seen.jobs["betrayed"]
    seen.said(rf"job {job} failed: ValueError \(.*, attempt 1, after .*s\)$", job=job)
    assert SECRET not in seen.text
    assert "hello" not in seen.text
