"""Tasks that run one kind of the catalogue in every executor, and their neighbours."""

import asyncio
import gc
import inspect
import os
import sys
import time
from pathlib import Path
from typing import Any

from tenure import Context, Retry, Tenure
from tests.apps.hostile.beats import EVERY, Here, append
from tests.apps.hostile.kinds import all_kinds

app = Tenure()
FOLDER = Path(os.environ.get("TENURE_TEST_FOLDER", "."))
KINDS = all_kinds()
NEVER = 3600.0  # seconds


def begin(number: int) -> Here:
    here = Here(FOLDER, number)
    append(here.runners, str(os.getpid()))
    return here


def is_ready(here: Here, kind: str) -> None:
    """Say that what the kind leaves is there."""
    if KINDS[kind].beats:
        here.wait_for_beats()
    append(here.readiness, str(os.getpid()))


@app.task(retry=0, close_timeout="300ms")
async def coroutine(ctx: Context, number: int, kind: str, stays: bool) -> str:
    here = begin(number)
    left = KINDS[kind].code(here)
    if inspect.isawaitable(left):
        await left
    until = time.monotonic() + 10
    while KINDS[kind].beats and not Path(here.beats).exists() and time.monotonic() < until:
        await asyncio.sleep(EVERY)
    is_ready(here, kind)
    while stays:
        await asyncio.sleep(NEVER)
    return "left"


@app.task(retry=0, executor="thread", close_timeout="300ms")
def thread(ctx: Context, number: int, kind: str, stays: bool) -> str:
    """Listens to a stop: what matters is what it leaves."""
    here = begin(number)
    KINDS[kind].code(here)
    is_ready(here, kind)
    while stays:
        ctx.raise_if_cancelled()
        time.sleep(EVERY)
    return "left"


@app.task(retry=0, close_timeout="300ms")
def process(ctx: Context, number: int, kind: str, stays: bool) -> str:
    here = begin(number)
    KINDS[kind].code(here)
    is_ready(here, kind)
    while stays:
        time.sleep(NEVER)
    return "left"


@app.task(retry=0, close_timeout="300ms")
async def poisoned_coroutine(ctx: Context, number: int, kind: str, stays: bool) -> Any:
    here = begin(number)
    append(here.readiness, "")  # before there is no descriptor left
    result = KINDS[kind].code(here)
    if inspect.isawaitable(result):
        result = await result
    while stays:
        await asyncio.sleep(NEVER)
    return result


@app.task(retry=0, executor="thread", close_timeout="300ms")
def poisoned_thread(ctx: Context, number: int, kind: str, stays: bool) -> Any:
    here = begin(number)
    append(here.readiness, "")
    result = KINDS[kind].code(here)
    while stays:
        ctx.raise_if_cancelled()
        time.sleep(EVERY)
    return result


@app.task(retry=0, close_timeout="300ms")
def poisoned_process(ctx: Context, number: int, kind: str, stays: bool) -> Any:
    here = begin(number)
    append(here.readiness, "")
    result = KINDS[kind].code(here)
    while stays:
        time.sleep(NEVER)
    return result


@app.task(retry=0)
async def probe(ctx: Context) -> str:
    await asyncio.to_thread(time.time)
    return "fine"


@app.task(retry=0, executor="thread")
def thread_probe(ctx: Context) -> str:
    return "fine"


@app.task(retry=0)
def process_probe(ctx: Context) -> str:
    return "fine"


command = app.command(
    "command",
    [
        sys.executable,
        "-m",
        "tests.apps.hostile.command",
        "{folder}",
        "{number}",
        "{kind}",
        "{stays}",
    ],
    retry=0,
)


def _may_end(gate: str) -> bool:
    return (FOLDER / gate).exists()


@app.task(retry=Retry(max=3, base="200ms"))
async def neighbour(ctx: Context, gate: str) -> int:
    """Run in the same event loop until the test opens the gate."""
    append(str(FOLDER / f"began-{gate}-{ctx.job.id}"), str(os.getpid()))
    while not _may_end(gate):
        gc.collect(0)
        await asyncio.sleep(EVERY)
    return ctx.attempt


@app.task(retry=Retry(max=3, base="200ms"), executor="thread")
def thread_neighbour(ctx: Context, gate: str) -> int:
    append(str(FOLDER / f"began-{gate}-{ctx.job.id}"), str(os.getpid()))
    while not _may_end(gate):
        ctx.raise_if_cancelled()
        time.sleep(EVERY)
    return ctx.attempt
