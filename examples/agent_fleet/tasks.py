"""The registry of tasks, and the dispatcher that assigns them.

A job is a set of tasks and has no code of its own. Jobs and tasks are named by their keys: the task
``server`` of the job ``chat-app`` is ``chat-app.server``.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from examples.agent_fleet.fleet import agent
from examples.agent_fleet.plan import Plan
from tenure import Job, NewJob, Tenure
from tenure import State as TaskState

MOST_TASKS = 1000  # of one job

__all__ = ["DispatcherCore", "Task", "TaskRegistry", "TaskState"]


@dataclass(frozen=True)
class Task:
    task_id: str
    job_id: str
    state: TaskState
    number: int  # the id of its job in Tenure


class TaskRegistry:
    def __init__(self, app: Tenure) -> None:
        self.app = app

    def submit(self, plan: Plan, repository: str) -> str:
        """Enqueue a job with all its tasks in one transaction, and return its id.

        The tasks of a job have a queue of their own, so that their assignment can be blocked.
        """
        tasks = [
            agent.using(
                key=f"{plan.job}.{step.name}",
                parent=plan.job,
                after=[f"{plan.job}.{name}" for name in step.after],
                queue=plan.job,
                pools=["repo"] if step.in_repo else [],
            ).new_job(repository, step.writes, step.seconds, step.manner)
            for step in plan.tasks
        ]
        self.app.store.enqueue([NewJob(key=plan.job, unique=plan.job), *tasks])
        return plan.job

    def cancel_job_tasks(self, job_id: str, reason: str) -> list[str]:
        """Cancel all tasks for a job, wait until they have stopped, and return their ids."""
        record = self.app.handle(job_id).cancel(reason, wait=True)
        return self.names(job_id, record.tasks_cancelled)

    def get_job_tasks_by_state(self, job_id: str, states: Sequence[TaskState]) -> list[Task]:
        """Get tasks in specific states."""
        return [task for task in self.tasks(job_id) if task.state in states]

    def tasks(self, job_id: str) -> list[Task]:
        """Return all tasks of a job, oldest first."""
        job = self.app.handle(job_id).id
        found = self.app.store.list_jobs({"parent": job}, n=MOST_TASKS)
        return [Task(name_of(task), job_id, task.state, task.id) for task in reversed(found)]

    def names(self, job_id: str, numbers: Sequence[int]) -> list[str]:
        """Return the ids of those tasks of a job that are among these jobs of Tenure."""
        return [task.task_id for task in self.tasks(job_id) if task.number in numbers]

    def name(self, number: int) -> str:
        """Return the id of a job or a task."""
        return name_of(self.app.store.show(number))


class DispatcherCore:
    """Assigns tasks to runners: each of Tenure's workers claims what is ready."""

    def __init__(self, app: Tenure) -> None:
        self._app = app

    def is_job_cancelled(self, job_id: str) -> bool:
        """Check if job is cancelled."""
        job = self._app.handle(job_id).job()
        return job.state is TaskState.CANCELLED or job.cancel_requested

    def block_job_assignment(self, job_id: str) -> None:
        """Prevent new task assignments for job; running tasks continue."""
        self._app.store.pause_dispatch("queue", job_id, reason="assignment blocked")

    def unblock_job_assignment(self, job_id: str) -> None:
        """Allow task assignments for job again."""
        self._app.store.resume_dispatch("queue", job_id, reason="assignment unblocked")


def name_of(job: Job) -> str:
    return job.key or str(job.id)
