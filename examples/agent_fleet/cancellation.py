"""Cancelling jobs and tasks, and the record of every cancellation.

One stop in the database does what the design lists step by step: it writes the record, ends what
waits and tells the workers what to stop, in one transaction. So no crash leaves a job half
cancelled; the workers stop the runners, release the slots and close the record.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from examples.agent_fleet import fleet
from examples.agent_fleet.resources import ArtifactStore, PoolManager, slot_names
from examples.agent_fleet.runners import RunnerMonitor, runner_of
from examples.agent_fleet.tasks import DispatcherCore, TaskRegistry, TaskState
from tenure import Settings, Tenure, stops
from tenure.errors import IllegalTransition
from tenure.stops import CancellationStatus, CancellationStep

__all__ = [
    "CancellationRecord",
    "CancellationResult",
    "CancellationService",
    "CancellationStatus",
    "CancellationStep",
    "CancellationTracker",
    "service_of",
]


@dataclass
class CancellationRecord:
    """Record of a cancellation operation."""

    cancellation_id: str
    job_id: str
    task_id: str | None  # None for full job cancellation
    reason: str
    force: bool
    initiated_at: datetime
    initiated_by: str  # user or system
    status: CancellationStatus
    progress: Sequence[CancellationStep]
    completed_at: datetime | None
    error: str | None


@dataclass
class CancellationResult:
    """Result of cancellation operation."""

    success: bool
    cancellation_id: str
    job_id: str
    tasks_cancelled: list[str]
    tasks_completed: list[str]  # Already completed before cancellation
    runners_terminated: list[str]
    slots_released: list[str]
    artifacts_preserved: list[str]
    errors: list[str]
    duration_seconds: float


class CancellationTracker:
    """Tracks ongoing cancellation operations, in the database of the jobs.

    With a storage path, that is the embedded database in this folder.
    """

    def __init__(self, storage_path: Path | None = None, *, app: Tenure = fleet.app) -> None:
        self.storage_path = storage_path
        if storage_path is not None:
            app = Tenure(settings=Settings(folder=storage_path))
        self._app = app
        self._registry = TaskRegistry(app)

    @property
    def active_cancellations(self) -> dict[str, CancellationRecord]:
        """The cancellations that have not ended, by id."""
        open_ = [record.cancellation_id for record in self._app.store.movements().open]
        return {name: self.get(name) for name in open_}

    def start_cancellation(self, job_id: str, reason: str, force: bool) -> str:
        """Record start of cancellation operation: from here on, the job is being cancelled."""
        return self._app.handle(job_id).cancel(reason, force=force).cancellation_id

    def update_progress(self, cancellation_id: str, step: str, status: str) -> None:
        """Update cancellation progress; the workers do so as well."""
        self._app.store.step(cancellation_id, step, status)

    def complete_cancellation(self, cancellation_id: str, result: CancellationResult) -> None:
        """Mark cancellation as complete, unless the last task to stop has done so."""
        status: Literal["completed", "partial"] = "completed" if result.success else "partial"
        try:
            error = "; ".join(result.errors) or None
            self._app.store.close_record(cancellation_id, status, error=error)
        except IllegalTransition:
            if self.get(cancellation_id).completed_at is None:
                raise

    def get(self, cancellation_id: str) -> CancellationRecord:
        return self._read(self._app.store.cancellation(cancellation_id))

    def latest(self, job_id: str) -> CancellationRecord:
        """Return the latest cancellation of a job."""
        return self._read(self._app.store.cancellation(job=self._app.handle(job_id).id))

    def list_cancellations(self, limit: int = 10) -> list[CancellationRecord]:
        """Return the latest cancellations, newest first."""
        return [self._read(record) for record in self._app.store.cancellations(limit)]

    def _read(self, record: stops.CancellationRecord) -> CancellationRecord:
        task = record.task_id
        return CancellationRecord(
            cancellation_id=record.cancellation_id,
            job_id=self._registry.name(record.job_id),
            task_id=None if task is None else self._registry.name(task),
            reason=record.reason,
            force=record.force,
            initiated_at=record.initiated_at,
            initiated_by=record.initiated_by,
            status=record.status,
            progress=record.progress,
            completed_at=record.completed_at,
            error=record.error,
        )


class CancellationService:
    """Manages job and task cancellation operations."""

    def __init__(
        self,
        task_registry: TaskRegistry,
        dispatcher: DispatcherCore,
        runner_monitor: RunnerMonitor,
        repo_pool: PoolManager,
        artifact_store: ArtifactStore,
    ) -> None:
        self.task_registry = task_registry
        self.dispatcher = dispatcher
        self.runner_monitor = runner_monitor
        self.repo_pool = repo_pool
        self.artifact_store = artifact_store
        self.cancellation_tracker = CancellationTracker(app=task_registry.app)
        self._stops = stops.CancellationService(task_registry.app)

    async def cancel_job(self, job_id: str, reason: str, force: bool = False) -> CancellationResult:
        """Cancel entire job and all associated tasks, and wait until everything has stopped.

        With force, runners are killed at once; else they may shut down gracefully.
        """
        return await self._read(await self._stops.cancel_job(job_id, reason, force))

    async def cancel_task(
        self, task_id: str, reason: str, cascade: bool = True
    ) -> CancellationResult:
        """Cancel specific task and, with cascade, its dependents."""
        return await self._read(await self._stops.cancel_task(task_id, reason, cascade))

    async def get_cancellation_status(self, job_id: str) -> CancellationStatus:
        """Get current cancellation status for a job."""
        return await self._stops.get_cancellation_status(job_id)

    async def _read(self, result: stops.CancellationResult) -> CancellationResult:
        return await asyncio.to_thread(self._in_names, result)

    def _in_names(self, result: stops.CancellationResult) -> CancellationResult:
        """Return a result of Tenure with the names of this system."""
        job = self.task_registry.name(result.job_id)
        completed = self.task_registry.names(job, result.tasks_completed)
        ended = [member for member in result.members if member.became is TaskState.CANCELLED]
        stopped = [member.job_id for member in ended if member.was is TaskState.RUNNING]
        return CancellationResult(
            success=result.success,
            cancellation_id=result.cancellation_id,
            job_id=job,
            tasks_cancelled=self.task_registry.names(job, [member.job_id for member in ended]),
            tasks_completed=completed,
            runners_terminated=[runner_of(task) for task in stopped],
            slots_released=slot_names(result.slots_released),
            artifacts_preserved=self.artifact_store.names(job),
            errors=list(result.errors),
            duration_seconds=result.duration_seconds,
        )


def service_of(app: Tenure) -> CancellationService:
    """Return the service for the jobs of an app."""
    registry = TaskRegistry(app)
    return CancellationService(
        registry,
        DispatcherCore(app),
        RunnerMonitor(registry),
        PoolManager(registry),
        ArtifactStore(registry),
    )
