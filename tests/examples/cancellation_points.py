"""A task that asks the repository whether it is to stop, in the orchestrator's own words."""

import asyncio

from examples.rag_pipeline.job_manager import JobManager
from examples.rag_pipeline.job_repository import JobRepository

from tenure import Context
from tests.examples import snippets

job_manager = JobManager(heartbeat_interval=1, lease_duration=6)
app = job_manager.app
repo = JobRepository(app)

CANCELLATION_POINTS = """\
# Before starting operation
if await repo.check_cancellation_requested(job_id):
    raise asyncio.CancelledError()

# After operation
if await repo.check_cancellation_requested(job_id):
    raise asyncio.CancelledError()
"""


# It is asked for as long as it takes, and never killed: only its own checks can end it.
@app.task(grace="60s", ask_for="60s", last_rung="asked")
async def operate(ctx: Context) -> None:
    for done in range(10_000):
        await snippets.run(CANCELLATION_POINTS, repo=repo, job_id=ctx.job.id, asyncio=asyncio)
        ctx.progress(done)
        await asyncio.sleep(0.05)
