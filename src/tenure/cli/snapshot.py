"""Snapshots of queues, running jobs, stops and workers, and the rate between two of them."""

from datetime import datetime, timedelta

import msgspec

from tenure.control.authorized_client import AuthorizedClient
from tenure.domain.job import Job
from tenure.domain.lifecycle import ENDED
from tenure.store.calls import diagnosis, queries
from tenure.store.diagnosis_results import OpenStop, ServerInfo
from tenure.store.results import Statistics, WorkerInfo

_MAX_JOBS = 200
_MIN_INTERVAL = timedelta(milliseconds=500)  # between two snapshots, to compute a rate


class Snapshot(msgspec.Struct, frozen=True):
    """Everything that `tenure top` shows."""

    server: ServerInfo
    statistics: Statistics
    running: tuple[Job, ...]  # oldest first
    stops: tuple[OpenStop, ...]
    workers: tuple[WorkerInfo, ...]
    ended_per_second: float | None = None  # since the previous snapshot

    @property
    def at(self) -> datetime:
        """Return the time of the snapshot by the clock of the database."""
        return self.server.now

    @property
    def ended(self) -> int:
        counts = self.statistics.by_status
        return sum(counts.get(state.value, 0) for state in ENDED)


class Sampler:
    """Takes snapshots, and computes the rate between two of them."""

    def __init__(self, caller: AuthorizedClient) -> None:
        self._caller = caller
        self._before: Snapshot | None = None

    def take(self) -> Snapshot:
        send = self._caller.send
        running = send(queries.list_jobs({"state": "running"}, n=_MAX_JOBS))
        snapshot = Snapshot(
            server=send(diagnosis.server()),
            statistics=send(queries.statistics()),
            running=tuple(sorted(running, key=lambda job: (job.started_at, job.id))),
            stops=send(diagnosis.stops()),
            workers=send(queries.workers()),
        )
        before = self._before
        if before is None or snapshot.at - before.at >= _MIN_INTERVAL:
            self._before = snapshot
        if before is None or snapshot.at <= before.at:
            return snapshot
        # Jobs that were pruned since must not make the rate negative.
        ended = max(snapshot.ended - before.ended, 0)
        rate = ended / (snapshot.at - before.at).total_seconds()
        return msgspec.structs.replace(snapshot, ended_per_second=rate)
