"""Estimate how long jobs take, by task, and how many functions to claim ahead."""

from collections.abc import Collection, Mapping
from itertools import islice

HORIZON = 0.12  # seconds within which a job that is claimed ahead is expected to begin
MAX_AHEAD = 500  # jobs, for one process
_WEIGHT = 0.2  # of the last run in the estimate
_SHORTEST = 0.0001
_REMEMBERED = 50  # runs in a mean
_AT_ONCE = 500  # tasks sent in one beat


class RunTimes:
    """Moving estimates. A task of which nothing is known is taken for a long one."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._runs: dict[str, int] = {}

    def note(self, task: str, seconds: float) -> None:
        before = self._seconds.get(task, seconds)
        self._seconds[task] = before + (seconds - before) * _WEIGHT
        self._runs[task] = self._runs.get(task, 0) + 1

    def expected(self, task: str) -> float:
        """Return the seconds that the next run of a task will take."""
        return self._seconds.get(task, HORIZON * 10)

    def ahead(self, tasks: Collection[str]) -> int:
        """Return how many jobs of these tasks a process will begin soon, besides its current one.

        There are never more than were seen to run, so that the number grows from nothing.
        """
        slowest = max(map(self.expected, tasks), default=HORIZON * 10)
        seen = min((self._runs.get(task, 0) for task in tasks), default=0)
        return min(int(HORIZON / max(slowest, _SHORTEST)), seen, MAX_AHEAD)


class MeasuredTimes:
    """Mean run times of all tasks, for the database, which is sent those that have changed."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._runs: dict[str, int] = {}
        self._sent: dict[str, float] = {}
        self._noted: set[str] = set()  # since the database was sent theirs

    def note(self, task: str, seconds: float) -> None:
        runs = self._runs[task] = min(self._runs.get(task, 0) + 1, _REMEMBERED)
        before = self._seconds.get(task, 0.0)
        self._seconds[task] = before + (seconds - before) / runs
        self._noted.add(task)

    def changed(self) -> Mapping[str, float]:
        """Return the times that differ by more than a tenth from what the database has."""
        self._noted = {task for task in self._noted if self._differs(task)}
        return {task: self._seconds[task] for task in islice(self._noted, _AT_ONCE)}

    def acknowledge(self, sent: Mapping[str, float]) -> None:
        """Note that the database has these times."""
        self._sent |= sent
        self._noted -= sent.keys()

    def _differs(self, task: str) -> bool:
        seconds = self._seconds[task]
        return abs(seconds - self._sent.get(task, -1.0)) > 0.1 * seconds
