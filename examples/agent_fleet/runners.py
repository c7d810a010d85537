"""The runners of agents, and how they are terminated.

A runner is the process that runs one task, so its id is made from the number of the task. To
terminate it is to cancel its task; the worker that started it asks, interrupts and kills it.
"""

import asyncio
import logging
from contextlib import suppress

from examples.agent_fleet.tasks import TaskRegistry, TaskState
from tenure import Handle
from tenure.errors import IllegalTransition, InputRefused, JobNotEnded

KILL_TIMEOUT = 10  # seconds for a runner to be gone after a kill

log = logging.getLogger("necrocode")


class RunnerMonitor:
    def __init__(self, task_registry: TaskRegistry) -> None:
        self._registry = task_registry

    def get_job_runners(self, job_id: str) -> list[str]:
        """Get all runners for a job."""
        running = self._registry.get_job_tasks_by_state(job_id, [TaskState.RUNNING])
        return [runner_of(task.number) for task in running]

    async def send_termination_signal(self, runner_id: str, graceful: bool = True) -> None:
        """Send termination signal to runner; a runner that has ended needs none."""
        task = self.task_of(runner_id)
        if (await task.ajob()).state is TaskState.RUNNING:
            with suppress(IllegalTransition):  # it ended meanwhile
                await task.acancel("Runner terminated", cascade=False, force=not graceful)

    def task_of(self, runner_id: str) -> Handle[object]:
        """Return the task that a runner runs."""
        number = runner_id.removeprefix("runner-")
        if not number.isdecimal():
            raise InputRefused(f"{runner_id!r} is no runner; their ids look like 'runner-12'")
        return self._registry.app.handle(int(number))


class RunnerTerminator:
    """Terminates running agent instances."""

    def __init__(self, runner_monitor: RunnerMonitor) -> None:
        self.runner_monitor = runner_monitor

    async def terminate_runner(
        self,
        runner_id: str,
        graceful: bool = True,
        timeout: int = 30,  # noqa: ASYNC109
    ) -> bool:
        """Terminate a specific runner; it is killed when it is still there after the timeout.

        Return True if terminated successfully.
        """
        await self.runner_monitor.send_termination_signal(runner_id, graceful)
        if graceful and not await self._ends(runner_id, timeout):
            log.warning("%s did not end within %s s: killing it", runner_id, timeout)
            await self.runner_monitor.send_termination_signal(runner_id, graceful=False)
        return await self._ends(runner_id, KILL_TIMEOUT)

    async def terminate_job_runners(self, job_id: str, graceful: bool = True) -> list[str]:
        """Terminate all runners associated with a job, at the same time."""
        runners = await asyncio.to_thread(self.runner_monitor.get_job_runners, job_id)
        ended = await asyncio.gather(*(self.terminate_runner(it, graceful) for it in runners))
        return [runner for runner, gone in zip(runners, ended, strict=True) if gone]

    async def _ends(self, runner_id: str, seconds: float) -> bool:
        try:
            await self.runner_monitor.task_of(runner_id).await_end(f"{seconds}s")
        except JobNotEnded:
            return False
        return True


def runner_of(task: int) -> str:
    return f"runner-{task}"
