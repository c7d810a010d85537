"""The process runners of one tenant, and the functions that wait in them.

A process runs one function at a time. Behind it wait those that are expected to begin within a
tenth of a second, so that quick functions are claimed and handed over many at a time. A run that
waits behind a long function is taken back: it goes to another process, or to another worker.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence

from tenure.runtime.keeper.runs.run import Run
from tenure.runtime.keeper.runs.run_times import HORIZON, RunTimes
from tenure.runtime.keeper.runs.runner import Runner
from tenure.runtime.keeper.runs.runner_group import Assignment, Capacity, RunnerGroup

TAKE_BACK_AFTER = 0.2  # seconds that the function ahead has run, or seems to have
_PATIENCE = 0.5  # seconds until a run is taken back however quick those ahead of it are


class ProcessGroup(RunnerGroup):
    """Its capacity counts the processes that are busy, and those for which a run waits."""

    def __init__(
        self,
        tenant: str,
        capacity: Capacity,
        request_runner: Callable[[RunnerGroup], None],
        times: RunTimes,
        recycle_after: int,
    ) -> None:
        super().__init__("process", tenant, capacity, request_runner)
        self._times = times
        self._recycle_after = recycle_after
        self._tasks: Collection[str] = ()  # of the last runs
        self._held = 0  # processes: busy, or about to be
        self._owed = 0  # of the waiting runs: the first so many, for which a process is started
        self._expected = 0  # jobs of claims on their way that are to wait behind others

    @property
    def free(self) -> int:
        """Return how many jobs to claim: for idle processes, and to wait behind running ones."""
        if self.is_stuck:
            return 0
        idle = max(self.capacity.free, 0)
        ahead = self._times.ahead(self._tasks)
        if not ahead or self._waiting:
            return idle
        room = sum(self._room_in(runner, 1 + ahead) for runner in self.runners if runner.runs)
        return idle + max(room + idle * ahead - self._expected, 0)

    def reserve(self, n: int) -> int:
        idle = min(n, max(self.capacity.free, 0))
        self.capacity.take(idle)
        self._expected += n - idle
        return idle

    def unreserve(self, n: int, reserved: int) -> None:
        self._expected -= n - reserved
        self.capacity.release(reserved)

    def assign(self, assignments: list[Assignment]) -> None:
        self._tasks = {run.job.task for run, _ in assignments}
        self._waiting += assignments
        self._distribute()

    def add_runner(self, runner: Runner) -> None:
        super().add_runner(runner)
        self._hold()

    def remove_runner(self, runner: Runner) -> None:
        super().remove_runner(runner)
        self._hold()

    def release(self, n: int) -> None:  # noqa: ARG002 - it counts processes
        self._distribute()

    def withdraw(self, run: Run) -> bool:
        before = len(self._waiting)
        self._waiting = [waiting for waiting in self._waiting if waiting[0] is not run]
        runner = run.runner
        taken = len(self._waiting) < before or (
            runner in self.runners and bool(runner.take_back([run]))
        )
        self._hold()
        return taken

    def take_back(self, runner: Runner) -> None:
        """Take all that has not begun from a runner, for others."""
        self._waiting = [(run, run.work) for run in runner.take_back()] + self._waiting

    @property
    def has_queued(self) -> bool:
        """True if a run waits for a process."""
        return bool(self._waiting) or any(len(runner.runs) > 1 for runner in self.runners)

    def late(self) -> list[Run]:
        """Return the runs that wait behind long functions, and for which no process is idle."""
        now = asyncio.get_running_loop().time()
        for runner in self.runners:
            if runner.ready.is_set() and len(runner.runs) > 1 and self._is_held_up(runner, now):
                self.take_back(runner)
        self._distribute()
        owed = self._owed
        return [run for run, _ in self._waiting[owed:] if now - run.claimed_at >= TAKE_BACK_AFTER]

    def _is_held_up(self, runner: Runner, now: float) -> bool:
        began = runner.note_begun()
        last = next(reversed(runner.runs.values()))
        return (
            runner.retired
            or (began is not None and now - began >= TAKE_BACK_AFTER)
            or now - last.claimed_at >= _PATIENCE
        )

    def _room_in(self, runner: Runner, depth: int) -> int:
        """Return how many more runs a busy runner may get if it may have this many."""
        if (
            runner.retired
            or not runner.ready.is_set()
            or any(r.alone for r in runner.runs.values())
        ):
            return 0
        began = runner.note_begun()
        if began is not None and asyncio.get_running_loop().time() - began > HORIZON:
            return 0
        return max(min(depth, self._recycle_after - runner.done) - len(runner.runs), 0)

    def _distribute(self) -> None:
        """Start runs in idle processes, and let the others wait where they begin soonest."""
        self._hold()
        waiting, self._waiting = self._waiting, []
        slots = self.capacity.free + self._owed
        idle = [runner for runner in self.runners if not runner.retired and not runner.runs]
        batches: dict[Runner, list[Assignment]] = {}
        owed: list[Assignment] = []
        rest: list[Assignment] = []
        for assignment in waiting:
            if slots > 0:
                slots -= 1
                if idle:
                    batches[idle.pop(0)] = [assignment]
                else:
                    owed.append(assignment)
            else:
                rest.append(assignment)
        late = self._queue(rest, batches) if rest else []
        for runner, batch in batches.items():
            runner.start([run for run, _ in batch], [work for _, work in batch])
        self._waiting = owed + late
        self._owed = len(owed)
        self._hold()
        self._request_missing()

    def _queue(
        self, assignments: Sequence[Assignment], batches: dict[Runner, list[Assignment]]
    ) -> list[Assignment]:
        """Add runs to the batches of runners; return those that would not begin soon."""
        busy = [
            runner
            for runner in self.runners
            if runner in batches or (runner.runs and self._room_in(runner, len(runner.runs) + 1))
        ]
        backlog = {
            runner: sum(
                self._times.expected(run.job.task)
                for run in (*runner.runs.values(), *(run for run, _ in batches.get(runner, ())))
            )
            for runner in busy
            if not any(run.alone for run, _ in batches.get(runner, ()))
        }
        late = []
        for assignment in assignments:
            run = assignment[0]
            runner = min(backlog, key=backlog.__getitem__, default=None)
            if run.alone or runner is None or backlog[runner] > 2 * HORIZON:
                late.append(assignment)
                continue
            batches.setdefault(runner, []).append(assignment)
            backlog[runner] += self._times.expected(run.job.task)
            planned = runner.done + len(runner.runs) + len(batches[runner])
            if planned >= self._recycle_after:
                del backlog[runner]
        return late

    def _request_missing(self) -> None:
        while self._requested < self._owed:
            self._requested += 1
            self._request_runner(self)

    def _hold(self) -> None:
        """Take as much of the capacity as there are busy processes, and runs that wait for one."""
        self._owed = min(self._owed, len(self._waiting))
        held = sum(bool(runner.runs) for runner in self.runners) + self._owed
        before, self._held = self._held, held
        if held > before:
            self.capacity.take(held - before)
        elif held < before:
            self.capacity.release(before - held)
