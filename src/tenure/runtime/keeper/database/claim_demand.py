"""The demand of a tenant's runner groups for jobs."""

from collections.abc import Sequence
from dataclasses import dataclass

from tenure.runtime.keeper.runs.runner_group import RunnerGroup
from tenure.store.calls import worker_calls
from tenure.store.floors import Floors

LARGE = 100  # jobs in a claim that takes turns with others, where there are more jobs than it takes


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
        want = worker_calls.Want(
            n=n,
            queues=queues,
            tasks=self.tasks,
            floors=floors,
            in_turn=self.got_all and n >= LARGE,
        )
        return PendingClaim(self, want, self.group.reserve(n))


@dataclass(eq=False)
class PendingClaim:
    """A claim on its way; its room is reserved until it is closed."""

    demand: ClaimDemand
    want: worker_calls.Want
    reserved: int
    is_closed: bool = False

    def close(self) -> None:
        if not self.is_closed:
            self.is_closed = True
            self.demand.group.unreserve(self.want.n, self.reserved)
