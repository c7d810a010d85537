"""Steps in parallel, with a limit."""

import asyncio
import contextvars
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import Any

from tenure.runtime.runner.attempt import Attempt
from tenure.runtime.steps.effects import aperform, perform
from tenure.runtime.steps.steps import Step, Steps


async def agather(attempt: Attempt, steps: Steps, calls: Sequence[Step], limit: int) -> list[Any]:
    """Run steps in a coroutine; the first failure cancels the others."""
    await aperform(attempt, steps.load())
    slots = asyncio.Semaphore(limit)

    async def run(step: Step) -> Any:
        async with slots:
            return await aperform(attempt, steps.run(step))

    tasks = [asyncio.create_task(run(step)) for step in calls]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def gather(attempt: Attempt, steps: Steps, calls: Sequence[Step], limit: int) -> list[Any]:
    """Run steps in threads of a plain function; after a failure or a stop no other is begun."""
    perform(attempt, steps.load())
    if not calls:
        return []
    with ThreadPoolExecutor(min(limit, len(calls))) as pool:
        try:
            futures = [
                pool.submit(
                    contextvars.copy_context().run,
                    attempt.call_in_thread,
                    perform,
                    attempt,
                    steps.run(step),
                )
                for step in calls
            ]
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            for future in done:
                future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        return [future.result() for future in futures]
