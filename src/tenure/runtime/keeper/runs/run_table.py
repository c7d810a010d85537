"""The runs that a worker holds."""

import logging
from collections.abc import Iterator

from tenure.runtime.keeper.database.lease import Lease
from tenure.runtime.keeper.runs.run import Run
from tenure.store.results import Holding

_log = logging.getLogger("tenure.worker")


class RunTable:
    """A run is held from the claim of its job until its ending is handed to the exchange."""

    def __init__(self, lease: Lease) -> None:
        self._lease = lease
        self._runs: dict[int, Run] = {}  # by number
        self._by_job: dict[tuple[str, int], Run] = {}

    def __iter__(self) -> Iterator[Run]:
        return iter(list(self._runs.values()))

    def __len__(self) -> int:
        return len(self._runs)

    def __contains__(self, run: Run) -> bool:
        return self._runs.get(run.number) is run

    def of(self, tenant: str, job: int, token: int | None = None) -> Run | None:
        """Return the run of a job, under this token if one is given."""
        run = self._by_job.get((tenant, job))
        return run if run is not None and token in (None, run.job.token) else None

    def add(self, run: Run) -> None:
        self._runs[run.number] = run
        self._by_job[run.tenant, run.job.id] = run

    def remove(self, run: Run) -> None:
        self._runs.pop(run.number, None)
        if self._by_job.get((run.tenant, run.job.id)) is run:
            del self._by_job[run.tenant, run.job.id]

    def holdings(self) -> list[Holding]:
        return [Holding(run.tenant, run.job.id, run.job.token) for run in self]

    def refuse_late_write(self, tenant: str, job: int, what: str, token: int | None = None) -> None:
        """Note that the database refused a write, because the job is another worker's.

        Without a token the write was about a run that has ended; the job may have another by now.
        """
        _log.warning(
            "late write refused: %s of job %d is not this worker's any more",
            what,
            job,
            extra={"tenant": tenant, "job": job},
        )
        run = self.of(tenant, job)
        if run is not None and run.job.token == token and run.runner is not None and not run.lost:
            run.lost = True
            self._lease.check_now()
