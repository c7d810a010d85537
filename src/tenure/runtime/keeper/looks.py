"""Looks into jobs that run here: where their code is, and what their processes take.

A runner is asked over the wire. If it does not answer, some code holds it: which, is then seen by a
signal, whose handler needs no lock of the interpreter.
"""

import asyncio
from typing import TYPE_CHECKING

import msgspec

from tenure.domain.inspection import MAX_PROCESSES, Frame, InspectionAnswer, Process, Stack
from tenure.runtime.guard.processes import family
from tenure.runtime.keeper.measuring import measured, started_by
from tenure.runtime.keeper.run import Run
from tenure.runtime.keeper.runners import Runner
from tenure.runtime.keeper.storable import storable
from tenure.runtime.messages import InspectAnswer, InspectRequest
from tenure.runtime.stacks import read_dump
from tenure.store.calls import worker_calls

if TYPE_CHECKING:
    from tenure.runtime.keeper.keeper import Keeper

_PATIENCE = 1.0  # seconds for a runner to answer
_MOST_BYTES = 128 << 10  # of all stacks together
_HELD = "its code holds the interpreter's lock and does not let it answer"


class Looks:
    def __init__(self, keeper: "Keeper") -> None:
        self._keeper = keeper
        self._heard: dict[int, int] = {}  # by run: the latest look
        self._waiting: dict[int, asyncio.Future[InspectAnswer]] = {}  # by run

    def hear(self, look: int, run: Run) -> None:
        """Somebody looks into it. The database repeats this until it is answered."""
        if self._heard.get(run.number) != look:
            self._heard[run.number] = look
            self._keeper.start(self._answer(look, run))

    def seen(self, seen: InspectAnswer) -> None:
        waiting = self._waiting.get(seen.run)
        if waiting is not None and not waiting.done():
            waiting.set_result(seen)

    def forget(self, run: Run) -> None:
        self._heard.pop(run.number, None)

    async def _answer(self, look: int, run: Run) -> None:
        sight = storable(msgspec.to_builtins(await self._sight(run)))
        answer = worker_calls.answer_inspection(
            self._keeper.id,
            run.job.id,
            run.job.token,
            look,
            msgspec.convert(sight, InspectionAnswer),
        )
        await self._keeper.insisted(answer, run.tenant)

    async def _sight(self, run: Run) -> InspectionAnswer:
        runner = run.runner
        if runner is None or not runner.ready.is_set():
            return InspectionAnswer((), (), ("it waits for a runner; its code has not begun",))
        seen = await self._asked(runner, run)
        if seen is not None:
            stacks, why = seen.stacks, ""
        else:
            stacks, why = await self._held(runner, run)
        kept = _of_fit_size(stacks)
        processes, about = await asyncio.to_thread(_processes, runner, run, seen)
        cut = "" if kept == stacks else "the rest of the stacks is left out, because it is too long"
        return InspectionAnswer(kept, processes, tuple(filter(None, (why, cut, *about))))

    async def _asked(self, runner: Runner, run: Run) -> InspectAnswer | None:
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

    async def _held(self, runner: Runner, run: Run) -> tuple[tuple[Stack, ...], str]:
        """The stack of the code that holds the runner if it is this job's, or why there is none."""
        before = (runner.page.on_cpu, runner.page.stamp)
        if runner.kind == "thread":
            return (), f"{_HELD}, so where it is cannot be seen"
        if runner.kind == "async" and before[0] != run.number:
            other = runner.runs.get(before[0])
            who = f"job {other.job.id}" if other is not None else "something"
            return (), f"{who} holds the event loop that it shares, so where it is cannot be seen"
        frames = await asyncio.to_thread(read_dump, await runner.ask_for_stack())
        # Where a neighbour has come to the CPU meanwhile, the stack may be the neighbour's.
        moved = runner.kind == "async" and before != (runner.page.on_cpu, runner.page.stamp)
        if moved or not frames:
            return (), "it did not answer in time; look again"
        said = f"{_HELD}: this is where" if runner.kind == "process" else "it holds its event loop"
        return (Stack("its code", frames),), said


def _processes(
    runner: Runner, run: Run, seen: InspectAnswer | None
) -> tuple[tuple[Process, ...], tuple[str, ...]]:
    """Those of a job, and what is to be known about them."""
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
    return tuple(measured(pids[:MAX_PROCESSES])), tuple(about)


def _of_fit_size(stacks: tuple[Stack, ...]) -> tuple[Stack, ...]:
    """As many frames as a look has room for, of each stack the innermost."""
    room, kept = _MOST_BYTES, []
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
