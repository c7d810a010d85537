"""Jobs that show which tenants and queues a worker serves, and in which processes."""

import asyncio
import os

from tenure import Context, Retry, Tenure
from tests.apps.jobs import FOLDER, mark

app = Tenure()


@app.task
def process_id() -> int:
    return os.getpid()


@app.task
async def loop_id() -> int:
    return os.getpid()


@app.task(retry=Retry(max=0))
async def holds_its_slot(ctx: Context, steps: int) -> int:
    """Continue from the checkpoint until all steps are done or the job is released."""
    at = int(str(ctx.checkpoint.get("at", 0)))
    mark(f"started-{ctx.job.id}", str(at))
    while at < steps:
        at += 1
        await ctx.save_checkpoint(at=at)
        await ctx.aflush()
        if at == 1:
            await asyncio.sleep(3600)
    return at


@app.task
async def quick(ctx: Context) -> str:
    mark("quick", str(ctx.job.id))
    return "done"


@app.task
async def waits() -> str:
    while not (FOLDER / "go").exists():
        await asyncio.sleep(0.02)
    return "gone"


@app.task
async def naps() -> str:
    await asyncio.sleep(0.2)
    return "rested"
