"""What metrics are made of: the counts of a whole tenant, as they are at one moment."""

from collections.abc import Mapping

import msgspec

from tenure.store.diagnosis_results import Unrunnable


class Alive(msgspec.Struct, frozen=True):
    """The jobs of a queue that have one status and have not ended."""

    queue: str
    status: str
    n: int
    oldest_seconds: float
    served: bool  # by a living worker


class Tally(msgspec.Struct, frozen=True):
    """How often something happened and took this long: stops, runners of stops, events."""

    kind: str
    labels: tuple[str, ...]
    bucket: int  # the place of its upper bound
    n: int
    seconds: float


class Totals(msgspec.Struct, frozen=True):
    jobs: tuple[Alive, ...]
    unrunnable: tuple[Unrunnable, ...]
    zombies: int  # running, and the lease of their worker is over
    paused: tuple[str, ...]  # queues; with an empty name the tenant itself
    workers: Mapping[str, int]  # by status; the dead and those that left are not counted
    overdue: int  # stops that should long be over
    tally: tuple[Tally, ...]
    bounds: tuple[float, ...]  # of the buckets, in seconds
