"""The demand of a tenant's runner groups for jobs."""

from collections.abc import Sequence
from typing import NamedTuple

from tenure.runtime.keeper.runs.runner_group import RunnerGroup
from tenure.store.calls import worker_calls
from tenure.store.floors import Floors


class ClaimDemand:
    """The demand of one runner group."""

    def __init__(self, group: RunnerGroup, tasks: Sequence[str]) -> None:
        self.group = group
        self.tasks = list(tasks)
        self.floors = Floors()
        self.got_all = False  # the last claim was filled: both connections may claim
        self.poll_due = True  # a single claim is due, by the next call

    @property
    def wants_jobs(self) -> bool:
        return self.got_all or self.poll_due

    def claim(self, n: int, queues: Sequence[str] | None, now: float) -> "PendingClaim":
        """Return a claim of up to n jobs."""
        floors = self.floors.at(now)
        want = worker_calls.Want(n=n, queues=queues, tasks=self.tasks, floors=floors)
        return PendingClaim(self, want)


class PendingClaim(NamedTuple):
    demand: ClaimDemand
    want: worker_calls.Want
