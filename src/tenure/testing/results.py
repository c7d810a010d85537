"""A job that a sandbox has run, as a test looks at it."""

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from tenure.control.handle import Handle
from tenure.control.job_operations import PAGE
from tenure.domain.job import JSON, Job
from tenure.domain.lifecycle import State, Status
from tenure.domain.tenant import Tenant
from tenure.runtime.artifacts import Artifacts
from tenure.store.store import Store

R = TypeVar("R")


class JobRun(Generic[R]):
    """A job that was run, with all that it left behind. Each value is read when it is asked for."""

    def __init__(
        self, handle: Handle[R], store: Store, artifacts: str, error: BaseException | None = None
    ) -> None:
        self.handle = handle
        self.error = error  # that its code raised in the last attempt; None also if it was killed
        self._store = store
        self._artifacts = artifacts

    @property
    def id(self) -> int:
        """Return the id of the job."""
        return self.handle.id

    @property
    def job(self) -> Job:
        """Return the job with all its fields."""
        return self.handle.job()

    @property
    def status(self) -> Status:
        """Return its status."""
        return self.job.status

    @property
    def value(self) -> R:
        """Return its result. If its code failed, raise what it raised."""
        job = self.job
        if job.state is not State.COMPLETED and isinstance(self.error, Exception):
            raise self.error
        return self.handle.read(job)

    @property
    def attempts(self) -> int:
        """Return how many attempts have begun."""
        return self.job.attempt

    @property
    def partials(self) -> list[JSON]:
        """Return what it emitted, oldest first."""
        return self.handle.partials()

    @property
    def progress(self) -> JSON:
        """Return its last progress: ``{"done": 3, "total": 10}``."""
        return self.job.progress

    @property
    def checkpoint(self) -> JSON:
        """Return what it saved last."""
        return self.job.checkpoint

    @property
    def spent(self) -> Mapping[str, float]:
        """Return what it spent, by unit."""
        return self.job.spent

    @property
    def cleanup(self) -> JSON:
        """Return the report on the resources that were closed; None if there were none."""
        return self.job.cleanup

    @property
    def log(self) -> list[str]:
        """Return the lines that it logged or printed, oldest first."""
        lines: list[str] = []
        above = 0
        while page := self._store.job_output(self.id, "logs", above=above, n=PAGE):
            lines += [str(row["line"]) for row in page]
            above = page[-1]["id"]
        return lines

    @property
    def artifacts(self) -> dict[str, bytes]:
        """Return the contents of the files that it kept, by name."""
        kept = Artifacts(self._artifacts, Tenant(self.handle.tenant), self.id)
        found: dict[str, bytes] = {}
        for artifact in self.job.artifacts:
            name = str(artifact["name"])
            with kept.open(name) as file:
                found[name] = file.read()
        return found

    @property
    def children(self) -> list[Handle[Any]]:
        """Return its children, oldest first."""
        return self.handle.children()

    def __repr__(self) -> str:
        return f"<run of job {self.id}: {self.status}>"
