"""An app that imports nothing which a worker would not import without it."""

import asyncio
import os

from tenure import Tenure

app = Tenure()


@app.task(name="where")
async def where() -> int:
    return os.getpid()


@app.task(name="sleeps")
async def sleeps() -> None:
    await asyncio.sleep(3600)
