"""What a job holds and leaves behind: slots of the repo pool, and artifacts."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

import fsspec  # type: ignore[import-untyped]

from examples.agent_fleet.tasks import TaskRegistry
from tenure.errors import NotFound, TenureError

POOL = "repo"

log = logging.getLogger("necrocode")


@dataclass
class CleanupResult:
    slots_released: list[str] = field(default_factory=list)
    artifacts_preserved: list[str] = field(default_factory=list)
    artifacts_deleted: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


class PoolManager:
    """The pool of repository slots; each slot is a worktree."""

    def __init__(self, task_registry: TaskRegistry) -> None:
        self._registry = task_registry
        self._store = task_registry.app.store

    def create(self, slots: Sequence[str]) -> None:
        """Create the pool, unless it exists."""
        if not self._store.pools(POOL):
            self._store.create_pool(POOL, slots)

    def held_by(self, job_id: str) -> list[str]:
        """Return the slots that tasks of a job hold now."""
        tasks = [task.number for task in self._registry.tasks(job_id)]
        return [
            slot.name for pool in self._store.pools(POOL) for slot in pool.slots
            if slot.job_id in tasks
        ]  # fmt: skip

    def released_by(self, job_id: str) -> list[str]:
        """Return the slots that were released when the tasks of a job were cancelled."""
        try:
            record = self._store.cancellation(job=self._registry.app.handle(job_id).id)
        except NotFound:
            return []
        return slot_names(record.slots_released)

    def release(self, slot: str) -> None:
        """Take a slot from the task that holds it; refused while that task is running."""
        self._store.release_slot(POOL, slot)


class ArtifactStore:
    """The files that the agents of a job have written; their names are ``task/file``."""

    def __init__(self, task_registry: TaskRegistry) -> None:
        self._registry = task_registry

    def names(self, job_id: str) -> list[str]:
        return sorted(self._urls(job_id))

    def delete(self, job_id: str) -> list[str]:
        """Delete all artifacts of a job, and return their names."""
        urls = self._urls(job_id)
        for url in urls.values():
            files, path = fsspec.url_to_fs(url)
            files.rm(path)
        return sorted(urls)

    def _urls(self, job_id: str) -> dict[str, str]:
        """Return the artifacts that exist: a deleted one stays on the record of its task."""
        found = {
            f"{task.task_id}/{artifact['name']}": artifact["url"]
            for task in self._registry.tasks(job_id)
            for artifact in self._registry.app.handle(task.number).artifacts()
        }
        return {name: url for name, url in found.items() if _exists(url)}


class ResourceCleaner:
    """Cleans up resources after job/task cancellation."""

    def __init__(self, repo_pool: PoolManager, artifact_store: ArtifactStore) -> None:
        self.repo_pool = repo_pool
        self.artifact_store = artifact_store

    async def cleanup_job_resources(
        self, job_id: str, preserve_artifacts: bool = True
    ) -> CleanupResult:
        """Clean up all resources for a cancelled job.

        A slot that cannot be released is an error of the result; the rest is cleaned up all the
        same.
        """
        result = CleanupResult()
        result.slots_released = await self.release_repo_slots(job_id)
        result.errors = [
            f"slot {slot} is still held; cancel the job first"
            for slot in await asyncio.to_thread(self.repo_pool.held_by, job_id)
        ]
        if preserve_artifacts:
            result.artifacts_preserved = await asyncio.to_thread(self.artifact_store.names, job_id)
        else:
            result.artifacts_deleted = await asyncio.to_thread(self.artifact_store.delete, job_id)
        return result

    async def release_repo_slots(self, job_id: str) -> list[str]:
        """Release all repo pool slots for a job, and return those that are released.

        Most were released as their tasks ended. A running task keeps its slot.
        """
        return await asyncio.to_thread(self._release, job_id)

    def _release(self, job_id: str) -> list[str]:
        released = self.repo_pool.released_by(job_id)
        for slot in self.repo_pool.held_by(job_id):
            try:
                self.repo_pool.release(slot)
            except TenureError as error:
                log.error("slot %s was not released: %s", slot, error)  # noqa: TRY400
            else:
                released.append(slot)
        return released


def slot_names(slots: Sequence[str]) -> list[str]:
    """Return slots without the name of their pool: ``repo/slot-1`` is ``slot-1``."""
    return [slot.removeprefix(f"{POOL}/") for slot in slots]


def _exists(url: str) -> bool:
    files, path = fsspec.url_to_fs(url)
    return bool(files.exists(path))
