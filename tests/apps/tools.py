"""Tasks that a model calls as tools."""

import asyncio
import os
import subprocess
import time
from pathlib import Path

from pydantic import BaseModel

from tenure import Context, Pause, Tenure
from tenure.domain.job import JSON

app = Tenure()


@app.task
async def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@app.task
async def counts(ctx: Context, to: int) -> str:
    for number in range(to):
        ctx.progress(number + 1, to, f"step {number + 1}")
        await asyncio.sleep(0.06)
    return "counted"


@app.task(retry=0)
def works_with_a_child(ctx: Context, pids: str) -> None:
    """Work in a process that has a child, until somebody stops it."""
    child = subprocess.Popen(["sleep", "3600"])
    Path(pids).write_text(f"{os.getpid()} {child.pid}")
    ctx.progress(1, message="at work")
    while True:
        time.sleep(1)


@app.task(retry=0)
async def fails(why: str) -> None:
    raise ValueError(why)


@app.task(retry=0)
async def asks(ctx: Context) -> JSON:
    if ctx.resume_value is None:
        raise Pause("needs a human")
    return ctx.resume_value


class Verdict(BaseModel):
    ok: bool
    note: str = ""


@app.task(retry=0)
async def asks_a_person(ctx: Context, what: str) -> str:
    """Ask whether to publish something."""
    verdict = await ctx.ask(Verdict, f"Publish {what}?")
    return f"{verdict.ok} {verdict.note}"


asks_again = app.command("shell.asks", ["true"], retry=0)
