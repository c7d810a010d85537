"""The runners of one kind for one tenant, and who works where."""

from collections.abc import Callable

from tenure.runtime.keeper.run import Run
from tenure.runtime.keeper.runners import Runner
from tenure.runtime.messages import Kind, Work

Assignment = tuple[Run, Work]


class Room:
    """Runs of one kind that a worker has at once, those of all tenants together."""

    def __init__(self, size: int, on_room: Callable[[], None]) -> None:
        self.free = size
        self._on_room = on_room

    def take(self, n: int) -> None:
        self.free -= n

    def leave(self, n: int) -> None:
        self.free += n
        self._on_room()


class Crew:
    """Loop runners take many runs at once, process runners one at a time.

    A job whose runner died with it, and nobody knows whose fault it was, runs in one of its own.
    """

    def __init__(
        self, kind: Kind, tenant: str, room: Room, ask_for_one: Callable[["Crew"], None]
    ) -> None:
        self.kind = kind
        self.tenant = tenant
        self.room = room  # for its runs, and for claims on their way
        self.runners: list[Runner] = []
        self.is_stuck = False  # no runner can be started
        self._ask_for_one = ask_for_one
        self._coming = 0  # runners that were asked for
        self._waiting: list[Assignment] = []

    @property
    def free(self) -> int:
        return 0 if self.is_stuck else self.room.free

    def assign(self, assignments: list[Assignment]) -> None:
        """Let them run, as soon as there is a runner for each."""
        self.room.take(len(assignments))
        self._waiting += assignments
        self._distribute()

    def join(self, runner: Runner) -> None:
        """A runner that was asked for is there."""
        self._coming -= 1
        self.is_stuck = False
        self.runners.append(runner)
        self._distribute()

    def leave(self, runner: Runner) -> None:
        if runner in self.runners:
            self.runners.remove(runner)

    def ended(self, n: int) -> None:
        self.room.leave(n)
        if self._waiting:
            self._distribute()

    def has_waiting(self, run: Run) -> bool:
        return any(one is run for one, _ in self._waiting)

    def withdraw(self, run: Run) -> bool:
        """Take back a run that has no runner yet; whether it could be done."""
        before = len(self._waiting)
        self._waiting = [one for one in self._waiting if one[0] is not run]
        taken = before - len(self._waiting)
        self.room.leave(taken)
        return taken > 0

    def _distribute(self) -> None:
        waiting, self._waiting = self._waiting, []
        together: list[Assignment] = []
        for assignment in waiting:
            if self.kind == "process" or assignment[0].alone:
                self._start_alone(assignment)
            else:
                together.append(assignment)
        if together:
            self._start_together(together)
        self._ask()

    def _start_together(self, assignments: list[Assignment]) -> None:
        for runner in self.runners:
            if not runner.retired and not runner.alone:
                runner.start([run for run, _ in assignments], [work for _, work in assignments])
                return
        self._waiting += assignments

    def _start_alone(self, assignment: Assignment) -> None:
        for runner in self.runners:
            if (
                not runner.retired
                and not runner.runs
                and (self.kind == "process" or not runner.done)
            ):
                runner.alone = True
                runner.start([assignment[0]], [assignment[1]])
                return
        self._waiting.append(assignment)

    def _ask(self) -> None:
        alone = sum(self.kind == "process" or run.alone for run, _ in self._waiting)
        wanted = alone + (len(self._waiting) > alone)
        while self._coming < wanted:
            self._coming += 1
            self._ask_for_one(self)
