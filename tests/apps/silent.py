"""Jobs that keep their event loop from turning though no coroutine holds it; for real workers."""

import asyncio
import time

from tenure import Context
from tests.apps import stopping
from tests.apps.stopping import NEVER, mark

app = stopping.app
neighbour = stopping.neighbour


@app.task(retry=0)
async def blocks_by_a_callback(ctx: Context) -> None:
    mark(f"started-{ctx.job.id}", str(ctx.attempt))
    asyncio.get_running_loop().call_soon(time.sleep, NEVER)
    await asyncio.sleep(NEVER)


@app.task(retry=0)
async def pauses_by_a_callback(ctx: Context, seconds: float) -> str:
    mark(f"started-{ctx.job.id}", str(ctx.attempt))
    asyncio.get_running_loop().call_soon(time.sleep, seconds)
    await asyncio.sleep(0.1)
    return "done"
