"""One look at everything that moves, and the speed between two of them."""

from datetime import datetime, timedelta

import msgspec

from tenure.control.authorized_client import AuthorizedClient
from tenure.domain.job import Job
from tenure.domain.lifecycle import ENDED
from tenure.store.calls import diagnosis, queries
from tenure.store.diagnosis_results import OpenStop, ServerInfo
from tenure.store.results import Statistics, WorkerInfo

_MOST_JOBS = 200
_SHORTEST = timedelta(milliseconds=500)  # between two looks, to tell a speed from them


class Look(msgspec.Struct, frozen=True):
    server: ServerInfo
    statistics: Statistics
    running: tuple[Job, ...]  # who runs for the longest first
    stops: tuple[OpenStop, ...]
    workers: tuple[WorkerInfo, ...]
    ended_per_second: float | None = None  # since the look before

    @property
    def at(self) -> datetime:
        """By the database's clock, like every time in it."""
        return self.server.now

    @property
    def ended(self) -> int:
        counts = self.statistics.by_status
        return sum(counts.get(state.value, 0) for state in ENDED)


class Looker:
    """Looks again and again."""

    def __init__(self, caller: AuthorizedClient) -> None:
        self._caller = caller
        self._before: Look | None = None

    def look(self) -> Look:
        send = self._caller.send
        running = send(queries.list_jobs({"state": "running"}, n=_MOST_JOBS))
        look = Look(
            server=send(diagnosis.server()),
            statistics=send(queries.statistics()),
            running=tuple(sorted(running, key=lambda job: (job.started_at, job.id))),
            stops=send(diagnosis.stops()),
            workers=send(queries.workers()),
        )
        before = self._before
        if before is None or look.at - before.at >= _SHORTEST:
            self._before = look
        if before is None or look.at <= before.at:
            return look
        # What was pruned meanwhile must not count as work that was undone.
        ended = max(look.ended - before.ended, 0)
        speed = ended / (look.at - before.at).total_seconds()
        return msgspec.structs.replace(look, ended_per_second=speed)
