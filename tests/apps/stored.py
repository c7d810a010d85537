"""Jobs that keep files where the settings say."""

import asyncio

from tenure import Context, Tenure

app = Tenure()


@app.task
async def keeps(ctx: Context, size: int) -> int:
    await ctx.artifact("pages/index.html", b"x" * size)
    await ctx.artifact("summary.json", {"size": size})
    return size


@app.task
def keeps_in_a_process(ctx: Context, size: int) -> int:
    ctx.artifact("pages/index.html", b"x" * size)
    ctx.artifact("summary.json", {"size": size})
    return size


@app.task
async def keeps_and_sleeps(ctx: Context) -> None:
    await ctx.artifact("draft.txt", b"x")
    await asyncio.sleep(3600)


@app.task
async def returns(size: int) -> dict[str, str]:
    return {"text": "x" * size}


@app.task
def returns_in_a_process(size: int) -> dict[str, str]:
    return {"text": "x" * size}


@app.task
def returns_in_a_transaction(ctx: Context, size: int) -> dict[str, str]:
    with ctx.transaction() as transaction:
        transaction.complete({"text": "x" * size})
    return {}


@app.task
async def adds_up(ctx: Context, size: int) -> int:
    tasks = (returns, returns_in_a_process, returns_in_a_transaction)
    children = [await ctx.aspawn(task, size) for task in tasks]
    return sum(len(result["text"]) for result in await ctx.await_for(children))
