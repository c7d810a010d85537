"""Run one scenario next to its neighbours, and record every claim that does not hold."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from tenure.control.handle import Handle
from tenure.domain.lifecycle import State
from tenure.errors import IllegalTransition
from tests.apps.hostile import app as tasks
from tests.apps.hostile.kinds import Executor
from tests.hostile.arena import GRACE, WITHIN, Lane, patiently
from tests.hostile.scenario import Evidence, Scenario, Traces

NEIGHBOURS = 2

TASKS: Mapping[Executor, tuple[Any, Any]] = {
    "async": (tasks.coroutine, tasks.neighbour),
    "thread": (tasks.thread, tasks.thread_neighbour),
    "process": (tasks.process, tasks.neighbour),
    "command": (tasks.command, tasks.neighbour),
}
POISONED: Mapping[Executor, tuple[Any, Any]] = {
    "async": (tasks.poisoned_coroutine, tasks.probe),
    "thread": (tasks.poisoned_thread, tasks.thread_probe),
    "process": (tasks.poisoned_process, tasks.process_probe),
}


def play(lane: Lane, scenario: Scenario, number: int, evidence: Evidence) -> None:
    """Run one scenario next to its neighbours; record what does not hold as evidence."""
    task, neighbour = TASKS[scenario.executor]
    poison = scenario.kind.group == "poison"
    if poison:
        task, probe = POISONED[scenario.executor]
    gate = f"gate-{number}"
    traces = Traces(lane.folder, number)
    neighbours = [lane.enqueue(neighbour, gate=gate) for _ in range(NEIGHBOURS)]
    try:
        for one in neighbours:
            evidence.claim(
                bool(patiently(lambda: lane.begins(one, gate), WITHIN)),  # noqa: B023
                "a neighbour does not begin",
            )
        place = {"folder": str(lane.folder)} if scenario.executor == "command" else {}
        stays: Any = scenario.way != "completes"
        if scenario.executor == "command":
            stays = str(stays)
        handle = lane.enqueue(task, number=number, kind=scenario.kind.name, stays=stays, **place)
        if poison:
            _ends_somehow(lane, scenario, handle, traces, evidence)
        elif scenario.way == "completes":
            _completes(lane, scenario, handle, traces, evidence)
        else:
            _is_stopped(lane, scenario, handle, traces, evidence)
    finally:
        (lane.folder / gate).touch()
    _neighbours_finish(lane, scenario, neighbours, gate, evidence)
    if scenario.way != "completes" and (ended := lane.show(handle).cancelled_at) is not None:
        late = traces.later_than(ended)
        evidence.claim(not late, f"{len(late)} beats after cancelled_at, by the neighbours' end")
    if poison:
        answer = lane.ends(lane.enqueue(probe))
        evidence.claim(
            answer is not None and answer.state is State.COMPLETED,
            f"the next job cannot run: {answer and answer.error_message}",
        )
    if poison or evidence.broken:
        traces.kill_runners()
        # The next scenario must not meet a runner whose death has not been noticed yet.
        lane.ends(lane.enqueue(neighbour, gate=gate))


def _ends_somehow(
    lane: Lane, scenario: Scenario, handle: Handle[Any], traces: Traces, evidence: Evidence
) -> None:
    """Check that a job that poisons its runner ends, whatever it did to prevent that."""
    if scenario.way != "completes":
        if not patiently(lambda: traces.is_ready, WITHIN):
            evidence.broken.append(f"it never ran: {lane.show(handle)}")
            return
        with suppress(IllegalTransition):  # it may have failed before
            _stop(handle, scenario)
    job = lane.ends(handle)
    if job is None:
        found = lane.show(handle)
        evidence.broken.append(f"it is {found.state} for ever")
        return
    if scenario.way == "completes":
        evidence.claim(job.state in (State.FAILED, State.COMPLETED), f"it became {job.state}")
        evidence.claim(
            job.state is State.COMPLETED or bool(job.error_message), "it failed without a reason"
        )


def _stop(handle: Handle[Any], scenario: Scenario) -> None:
    if scenario.way == "forced":
        handle.cancel(reason="enough", force=True)
    else:
        handle.cancel(reason="enough", grace=GRACE)


def _is_stopped(
    lane: Lane, scenario: Scenario, handle: Handle[Any], traces: Traces, evidence: Evidence
) -> None:
    if not patiently(lambda: traces.is_ready, WITHIN):
        evidence.broken.append(f"it never ran: {lane.show(handle)}")
        return
    _stop(handle, scenario)
    job = lane.ends(handle)
    if job is None:
        evidence.broken.append(f"it is not cancelled within {WITHIN} s")
        return
    living = traces.living()
    evidence.claim(job.state is State.CANCELLED, f"it became {job.state}: {job.error_message}")
    evidence.claim(not living, f"alive after cancelled_at: {living}")
    if scenario.kind.beats:
        evidence.claim(bool(traces.beats()), "it left no beat")
    evidence.claim(not traces.grows(), "it still writes after cancelled_at")
    if job.cancelled_at is not None:
        late = traces.later_than(job.cancelled_at)
        evidence.claim(
            not late, f"{len(late)} beats after cancelled_at, by up to {max(late, default=0)} ms"
        )
    evidence.claim(not traces.living(), f"alive {traces.living()} half a second later")


def _completes(
    lane: Lane, scenario: Scenario, handle: Handle[Any], traces: Traces, evidence: Evidence
) -> None:
    job = lane.ends(handle)
    if job is None:
        evidence.broken.append(f"it does not end within {WITHIN} s")
        return
    evidence.claim(job.state is State.COMPLETED, f"it became {job.state}: {job.error_message}")
    if scenario.kind.named and scenario.executor in ("async", "thread"):
        named = lane.leftovers(handle)
        evidence.claim(bool(named), "no warning in its log names what it left")
    if scenario.executor in ("process", "command"):
        gone = patiently(lambda: not traces.living() and not traces.grows(), WITHIN)
        evidence.claim(bool(gone), f"never gone: {traces.living()}")
    elif scenario.kind.group == "processes" and scenario.kind.attributed:
        evidence.claim(not traces.living(), f"alive after completed_at: {traces.living()}")


def _neighbours_finish(
    lane: Lane,
    scenario: Scenario,
    neighbours: Sequence[Handle[Any]],
    gate: str,
    evidence: Evidence,
) -> None:
    apart = scenario.executor in ("process", "command")
    completes = scenario.way == "completes" and scenario.kind.group != "poison"
    spared = apart or completes or scenario.kind.attributed
    for one in neighbours:
        job = lane.ends(one) or lane.show(one)
        evidence.claim(
            job.state is State.COMPLETED, f"a neighbour is {job.state}: {job.error_message}"
        )
        if scenario.kind.spoils:
            continue
        evidence.claim(job.attempt == 1, f"a neighbour is charged: it is at attempt {job.attempt}")
        began = lane.begins(one, gate)
        most = 1 if spared else 2
        evidence.claim(began <= most, f"a neighbour began {began} times, at most {most} is right")
