"""Whether a tenant has jobs to claim, for each of its runner groups."""

from collections.abc import Sequence
from typing import NamedTuple

from tenure.runtime.keeper.runs.runner_group import RunnerGroup
from tenure.store.calls import worker_calls
from tenure.store.floors import Floors


class ClaimDemand:
    """Whether there may be jobs to claim for a runner group."""

    def __init__(self, group: RunnerGroup, tasks: Sequence[str]) -> None:
        self.group = group
        self.tasks = list(tasks)
        self.floors = Floors()
        self.got_all = False  # the last claim was filled: both connections may claim
        self.poll_due = True  # a single claim is due, by the next call

    @property
    def wants_jobs(self) -> bool:
        return self.got_all or self.poll_due


class PendingClaim(NamedTuple):
    demand: ClaimDemand
    want: worker_calls.Want
