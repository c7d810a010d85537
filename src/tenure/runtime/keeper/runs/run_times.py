"""Estimate how long functions take, by task, and how many of them to claim ahead."""

from collections.abc import Collection

HORIZON = 0.12  # seconds within which a job that is claimed ahead is expected to begin
MAX_AHEAD = 500  # jobs, for one process
_WEIGHT = 0.2  # of the last run in the estimate
_SHORTEST = 0.0001


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
