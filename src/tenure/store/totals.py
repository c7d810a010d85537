"""The counts of a tenant for its metrics."""

from collections.abc import Mapping

import msgspec

from tenure.store.diagnosis_results import Unrunnable


class OpenJobs(msgspec.Struct, frozen=True):
    """The unfinished jobs of a queue in a status."""

    queue: str
    status: str
    n: int
    oldest_seconds: float
    served: bool  # by a live worker


class Tally(msgspec.Struct, frozen=True):
    """A histogram bucket: stops, runners ended by stops, or events."""

    kind: str
    labels: tuple[str, ...]
    bucket: int  # index of its upper bound in ``bounds``
    n: int
    seconds: float


class Totals(msgspec.Struct, frozen=True):
    jobs: tuple[OpenJobs, ...]
    unrunnable: tuple[Unrunnable, ...]
    zombies: int  # running jobs whose worker has lost its lease
    paused: tuple[str, ...]  # queues; an empty name stands for the tenant
    workers: Mapping[str, int]  # by status, without those that are dead or have left
    overdue: int  # stops that exceeded their grace
    tally: tuple[Tally, ...]
    bounds: tuple[float, ...]  # of the buckets, in seconds
    deliveries_pending: int = 0  # to webhooks
    webhooks_failing: int = 0  # or disabled
