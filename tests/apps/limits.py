"""Jobs that exceed their limits, and one that a cancel pauses."""

import asyncio
import os
import time
from typing import Any

from tenure import Context, Retry, Tenure
from tests.apps.stopping import NEVER, hog, may_go_on, started

app = Tenure()

SOON = Retry(max=1, base="1ms")
OFTEN = Retry(max=20, base="1ms")


@app.task(retry=SOON, timeout="500ms", grace="1s")
async def too_slow(ctx: Context) -> None:
    started(ctx)
    await asyncio.sleep(NEVER)


@app.task(retry=SOON, timeout="500ms", grace="1s")
def function_too_slow(ctx: Context) -> None:
    started(ctx, os.getpid())
    time.sleep(NEVER)


@app.task(retry=SOON, timeout="500ms", grace="1s")
def hogs_too_long(ctx: Context) -> None:
    with ctx.shield():  # a timeout before the C code runs would be too easy
        started(ctx, os.getpid())
        hog()


@app.task(retry=SOON, timeout="500ms", grace="1s")
async def hogs_too_long_in_a_coroutine(ctx: Context) -> None:
    with ctx.shield():
        started(ctx)
        hog()


@app.task(retry=OFTEN, timeout="1s")
async def in_time_after_the_first_time(ctx: Context) -> int:
    started(ctx)
    if ctx.attempt == 1:
        await asyncio.sleep(NEVER)
    return ctx.attempt


@app.task(retry=0)
async def sleeps_async(ctx: Context) -> None:
    started(ctx)
    await asyncio.sleep(NEVER)


@app.task(retry=0)
def sleeps(ctx: Context) -> None:
    started(ctx, os.getpid())
    time.sleep(NEVER)


@app.task(retry=0, memory="150MB")
def eats_memory(ctx: Context) -> None:
    started(ctx, os.getpid())
    eaten: list[bytes] = []
    until = time.monotonic() + 10
    while time.monotonic() < until and len(eaten) < 400:
        eaten.append(b"x" * 1_000_000)
        time.sleep(0.002)
    time.sleep(NEVER)


@app.task(retry=3, budget={"tokens": 100})
async def spends_too_much(ctx: Context) -> None:
    started(ctx)
    await ctx.emit({"said": "before the end"})
    ctx.spend(tokens=150)
    await asyncio.sleep(NEVER)


@app.task(retry=3, budget={"tokens": 100}, on_budget="pause")
def function_spends_too_much(ctx: Context) -> str:
    started(ctx, os.getpid())
    ctx.save_checkpoint(spent=True)
    ctx.emit({"said": "before the pause"})
    ctx.spend(tokens=150)
    time.sleep(NEVER)
    return "?"


@app.task(retry=0, budget={"tokens": 100})
async def flushes_what_it_spends(ctx: Context) -> None:
    started(ctx)
    for call in range(3):
        ctx.emit({"call": call})
        ctx.spend(tokens=60)
        await ctx.aflush()


@app.task(retry=0, budget={"tokens": 100})
def function_flushes_what_it_spends(ctx: Context) -> None:
    started(ctx, os.getpid())
    for call in range(3):
        ctx.emit({"call": call})
        ctx.spend(tokens=60)
        ctx.flush()


@app.task(retry=0, budget={"tokens": 100}, last_rung="asked")
async def is_over_its_budget(ctx: Context) -> None:
    """Exceed the budget, then run until the test lets the job end."""
    ctx.spend(tokens=150)
    await ctx.aflush()
    started(ctx)
    while not (may_go_on(ctx.job.id) and ctx.cancelled):
        await asyncio.sleep(0.02)
    ctx.raise_if_cancelled()


@app.task(retry=0, cancel_pauses=True)
async def goes_on_from_its_checkpoint(ctx: Context) -> Any:
    if "page" in ctx.checkpoint:
        return ctx.checkpoint["page"]
    await ctx.save_checkpoint(page=7)
    started(ctx)
    await asyncio.sleep(NEVER)
    return None
