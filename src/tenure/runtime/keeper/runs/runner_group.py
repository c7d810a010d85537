"""The runners of one kind for one tenant, and which run goes to which."""

from collections.abc import Callable

from tenure.runtime.keeper.runs.run import Run
from tenure.runtime.keeper.runs.runner import Runner
from tenure.runtime.messages import Kind, Work

Assignment = tuple[Run, Work]


class Capacity:
    """The room for runs of one kind in a worker, for all tenants together."""

    def __init__(self, size: int, on_release: Callable[[], None]) -> None:
        self.free = size
        self._on_release = on_release

    def take(self, n: int) -> None:
        self.free -= n

    def release(self, n: int) -> None:
        self.free += n
        self._on_release()


class RunnerGroup:
    """Loop runners take many runs at once; see ProcessGroup for process runners.

    A suspect, whose runner died for an unknown reason, has a runner to itself.
    """

    def __init__(
        self,
        kind: Kind,
        tenant: str,
        capacity: Capacity,
        request_runner: Callable[["RunnerGroup"], None],
    ) -> None:
        self.kind = kind
        self.tenant = tenant
        self.capacity = capacity  # for its runs, and for claims on their way
        self.runners: list[Runner] = []
        self.is_stuck = False  # no runner can be started
        self._request_runner = request_runner
        self._requested = 0  # runners on their way
        self._waiting: list[Assignment] = []

    @property
    def free(self) -> int:
        return 0 if self.is_stuck else self.capacity.free

    @property
    def has_slot(self) -> bool:
        """True if another run could begin at once."""
        return not self.is_stuck and self.capacity.free > 0

    def reserve(self, n: int) -> int:
        """Reserve room for a claim of n jobs; return how much capacity it takes."""
        self.capacity.take(n)
        return n

    def unreserve(self, n: int, reserved: int) -> None:  # noqa: ARG002
        self.capacity.release(reserved)

    def assign(self, assignments: list[Assignment]) -> None:
        """Start runs, as soon as there is a runner for each."""
        self.capacity.take(len(assignments))
        self._waiting += assignments
        self._distribute()

    def add_runner(self, runner: Runner) -> None:
        """Take a runner that was requested."""
        self._requested -= 1
        self.is_stuck = False
        self.runners.append(runner)
        self._distribute()

    def remove_runner(self, runner: Runner) -> None:
        if runner in self.runners:
            self.runners.remove(runner)

    def release(self, n: int) -> None:
        """Release the capacity of runs that have ended."""
        self.capacity.release(n)
        if self._waiting:
            self._distribute()

    def has_waiting(self, run: Run) -> bool:
        return any(waiting is run for waiting, _ in self._waiting)

    def withdraw(self, run: Run) -> bool:
        """Take back a run that has no runner yet; return whether there was one."""
        before = len(self._waiting)
        self._waiting = [waiting for waiting in self._waiting if waiting[0] is not run]
        taken = before - len(self._waiting)
        self.capacity.release(taken)
        return taken > 0

    def _distribute(self) -> None:
        waiting, self._waiting = self._waiting, []
        together: list[Assignment] = []
        for assignment in waiting:
            if assignment[0].alone:
                self._start_alone(assignment)
            else:
                together.append(assignment)
        if together:
            self._start_together(together)
        self._request_missing()

    def _start_together(self, assignments: list[Assignment]) -> None:
        for runner in self.runners:
            if not runner.retired and not runner.alone:
                runner.start([run for run, _ in assignments], [work for _, work in assignments])
                return
        self._waiting += assignments

    def _start_alone(self, assignment: Assignment) -> None:
        for runner in self.runners:
            if not runner.retired and not runner.runs and not runner.done:
                runner.alone = True
                runner.start([assignment[0]], [assignment[1]])
                return
        self._waiting.append(assignment)

    def _request_missing(self) -> None:
        alone = sum(run.alone for run, _ in self._waiting)
        wanted = alone + (len(self._waiting) > alone)
        while self._requested < wanted:
            self._requested += 1
            self._request_runner(self)


RunnerGroups = dict[tuple[str, Kind], RunnerGroup]  # by tenant and kind
