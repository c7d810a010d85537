"""Neighbours that meet what a stopped job could not be kept from leaving."""

import asyncio
import gc
import os
import subprocess
import time
from pathlib import Path

from tenure import Context, Retry
from tests.apps.hostile import app as hostile
from tests.apps.hostile import beyond
from tests.apps.hostile.beats import beat

assert beyond  # imported so that its kinds are in the catalogue
app = hostile.app
coroutine = hostile.coroutine


@app.task(retry=0)
async def works(ctx: Context) -> str:
    """Do what ordinary code does: use threads, collect garbage, read the environment."""
    await asyncio.to_thread(time.time)
    gc.collect()
    os.listdir("/")  # noqa: PTH208 - an event that Python audits
    if path := os.environ.get("TENURE_TEST_LEFT"):
        beat(path)
    return "done"


@app.task(retry=0)
async def has_a_child(ctx: Context, gate: str) -> None:
    child = subprocess.Popen(["sleep", "60"])
    (hostile.FOLDER / f"{gate}-child").touch()
    while not Path(hostile.FOLDER / gate).exists():
        await asyncio.sleep(0.02)
    child.kill()
    child.wait()


@app.task(retry=Retry(max=2, base="200ms"))
async def waits_for(ctx: Context, gate: str) -> int:
    (hostile.FOLDER / f"{gate}-began").touch()
    while not Path(hostile.FOLDER / gate).exists():
        await asyncio.sleep(0.02)
    return ctx.attempt


@app.task(retry=0)
async def cancels_everybody(ctx: Context) -> None:
    for task in asyncio.all_tasks():
        if task is not asyncio.current_task():
            task.cancel()
