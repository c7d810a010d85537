"""An app that imports nothing which a worker would not import without it."""

import asyncio
import os
import time

from tenure import Context, Tenure

app = Tenure()


@app.task(name="where")
async def where() -> int:
    return os.getpid()


@app.task(name="sleeps")
async def sleeps() -> None:
    await asyncio.sleep(3600)


@app.task(name="sleeps_in_process")
def sleeps_in_process() -> None:
    time.sleep(3600)


@app.task(name="emits")
async def emits(ctx: Context, times: int, every: float) -> None:
    for _ in range(times):
        await asyncio.sleep(every)
        ctx.emit(time.time())
