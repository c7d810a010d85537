"""Jobs whose ends, pauses and questions webhooks are told."""

import asyncio
from typing import Any

from pydantic import BaseModel

from tenure import Context, Pause, Tenure

app = Tenure()


class Verdict(BaseModel):
    ok: bool


@app.task(retry=0)
async def work(n: int = 0) -> int:
    return n


@app.task(retry=0)
async def fails() -> None:
    raise ValueError("no such page")


@app.task(retry=0)
async def pauses(ctx: Context) -> None:
    raise Pause("needs a human")


@app.task(retry=0)
async def sleeps(ctx: Context) -> None:
    await asyncio.sleep(3600)


@app.task(retry=0)
async def asks(ctx: Context) -> Any:
    verdict = await ctx.ask(Verdict, "Publish?", within="1h")
    return verdict.ok
