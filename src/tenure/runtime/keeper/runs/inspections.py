"""Inspections of running jobs: where their code is, and what their processes use.

A runner is asked over the wire. If it does not answer, some code holds it; a signal, whose handler
does not need the interpreter's lock, then shows which.
"""

import asyncio
from dataclasses import dataclass
from uuid import UUID

import msgspec

from tenure.domain.inspection import MAX_PROCESSES, Frame, InspectionAnswer, Process, Stack
from tenure.runtime.guard.processes import family
from tenure.runtime.keeper.background_tasks import BackgroundTasks
from tenure.runtime.keeper.database.access import DatabaseAccess
from tenure.runtime.keeper.database.storable import storable
from tenure.runtime.keeper.runs.process_usage import measure, started_by
from tenure.runtime.keeper.runs.run import Run
from tenure.runtime.keeper.runs.runner import Runner
from tenure.runtime.messages import InspectAnswer, InspectRequest
from tenure.runtime.stacks import read_dump
from tenure.store.calls import worker_calls

_PATIENCE = 1.0  # seconds for a runner to answer
_MAX_BYTES = 128 << 10  # of all stacks together
_HELD = "its code holds the interpreter's lock and does not let it answer"


@dataclass(eq=False)
class Inspections:
    worker: UUID
    database: DatabaseAccess
    tasks: BackgroundTasks

    def __post_init__(self) -> None:
        self._waiting: dict[int, asyncio.Future[InspectAnswer]] = {}  # by run

    def receive_signal(self, inspection: int, run: Run) -> None:
        """Inspect a run. The database repeats the signal until it is answered."""
        if run.inspection != inspection:
            run.inspection = inspection
            self.tasks.start(self._answer(inspection, run))

    def receive(self, seen: InspectAnswer) -> None:
        waiting = self._waiting.get(seen.run)
        if waiting is not None and not waiting.done():
            waiting.set_result(seen)

    async def _answer(self, inspection: int, run: Run) -> None:
        found = storable(msgspec.to_builtins(await self._inspect(run)))
        call = worker_calls.answer_inspection(
            self.worker,
            run.job.id,
            run.job.token,
            inspection,
            msgspec.convert(found, InspectionAnswer),
        )
        await self.database.retry_until_answered(call, run.tenant)

    async def _inspect(self, run: Run) -> InspectionAnswer:
        runner = run.runner
        if runner is None or not runner.ready.is_set():
            return InspectionAnswer((), (), ("it waits for a runner; its code has not begun",))
        seen = await self._ask(runner, run)
        if seen is not None:
            stacks, why = seen.stacks, ""
        else:
            stacks, why = await self._find_holder(runner, run)
        kept = _shorten(stacks)
        processes, about = await asyncio.to_thread(_processes, runner, run, seen)
        cut = "" if kept == stacks else "the rest of the stacks is left out, because it is too long"
        return InspectionAnswer(kept, processes, tuple(filter(None, (why, cut, *about))))

    async def _ask(self, runner: Runner, run: Run) -> InspectAnswer | None:
        waiting: asyncio.Future[InspectAnswer] = asyncio.get_running_loop().create_future()
        self._waiting[run.number] = waiting
        runner.send(InspectRequest(run.number))
        try:
            async with asyncio.timeout(_PATIENCE):
                return await waiting
        except TimeoutError:
            return None
        finally:
            if self._waiting.get(run.number) is waiting:
                del self._waiting[run.number]

    async def _find_holder(self, runner: Runner, run: Run) -> tuple[tuple[Stack, ...], str]:
        """Return the stack of the code that holds the runner, if it is this job's, and a note."""
        before = (runner.page.on_cpu, runner.page.stamp)
        if runner.kind == "thread":
            return (), f"{_HELD}, so where it is cannot be seen"
        if runner.kind == "async" and before[0] != run.number:
            other = runner.runs.get(before[0])
            who = f"job {other.job.id}" if other is not None else "something"
            return (), f"{who} holds the event loop that it shares, so where it is cannot be seen"
        frames = await asyncio.to_thread(read_dump, await runner.ask_for_stack())
        # If another job came to the CPU meanwhile, the stack may be that job's.
        moved = runner.kind == "async" and before != (runner.page.on_cpu, runner.page.stamp)
        if moved or not frames:
            return (), "it did not answer in time; look again"
        note = f"{_HELD}: this is where" if runner.kind == "process" else "it holds its event loop"
        return (Stack("its code", frames),), note


def _processes(
    runner: Runner, run: Run, seen: InspectAnswer | None
) -> tuple[tuple[Process, ...], tuple[str, ...]]:
    """Return the processes of a job, and notes about them."""
    about = []
    if runner.kind == "process":
        pids = list(family(runner.pid))
        if runner.done:
            about.append(f"pid {runner.pid} has run other jobs before, and their CPU counts too")
    else:
        known = seen.pids if seen is not None else ()
        pids = [runner.pid, *started_by(run.number, runner.pid, known)]
        about.append(f"pid {runner.pid} is shared by jobs; running in it now: {len(runner.runs)}")
    if len(pids) > MAX_PROCESSES:
        about.append(f"{len(pids) - MAX_PROCESSES} further processes are left out")
    return tuple(measure(pids[:MAX_PROCESSES])), tuple(about)


def _shorten(stacks: tuple[Stack, ...]) -> tuple[Stack, ...]:
    """Return as many frames as an inspection may have, the innermost of each stack."""
    room, kept = _MAX_BYTES, []
    for stack in stacks:
        frames: list[Frame] = []
        for frame in reversed(stack.frames):
            room -= len(msgspec.json.encode(frame))
            if room < 0:
                break
            frames.append(frame)
        if frames:
            kept.append(Stack(stack.name, tuple(reversed(frames))))
    return tuple(kept)
