"""A task for each option of ``@app.task``, whose jobs show whether the option holds."""

import asyncio
import os
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from tenure import Context, Tenure
from tenure.domain.retry import Retry

app = Tenure()


async def until_let_go() -> None:
    """Wait until the test allows the job to end."""
    while not Path(os.environ["TENURE_TEST_FOLDER"], "let-go").exists():
        await asyncio.sleep(0.05)


@app.task(name="a name of its own")
async def name(ctx: Context, n: str) -> str:
    return ctx.job.task


@app.task(executor="thread")
def executor(n: str) -> bool:
    return threading.current_thread() is threading.main_thread()


@app.task(queue="aside")
async def queue(ctx: Context, n: str) -> str:
    return ctx.job.queue


@app.task(queue="aside", priority=7)
async def priority(n: str) -> None: ...


@app.task(retry=Retry(max=1, base="10ms"))
async def retry(n: str) -> None:
    raise ValueError("again")


@app.task(timeout="300ms", retry=0)
async def timeout(n: str) -> None:
    await asyncio.sleep(600)


@app.task(deadline="2s")
async def deadline(n: str) -> None:
    await asyncio.sleep(600)


@app.task(timeout="100ms", grace="300ms", retry=0)
def grace(n: str) -> None:
    while True:
        with suppress(BaseException):  # it does not want to stop
            time.sleep(600)


@app.task(ask_for="1s")
async def ask_for(ctx: Context, n: str) -> None:
    ctx.emit("runs")
    asked = None
    try:
        while True:
            await asyncio.sleep(0.01)
            if ctx.cancelled and asked is None:
                asked = time.monotonic()
    except asyncio.CancelledError:
        ctx.emit(0 if asked is None else time.monotonic() - asked)
        raise


@app.task(last_rung="asked", grace="200ms")
async def last_rung(ctx: Context, n: str) -> None:
    ctx.emit("runs")
    while not ctx.cancelled:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.5)
    ctx.emit("nobody interrupted it")


@app.task(target="blocked:{n}", block_on=[], retry=0)
async def block_on(n: str) -> None:
    raise ValueError("its target stays open")


@app.task(budget={"tokens": 1}, retry=0)
async def budget(ctx: Context, n: str) -> None:
    ctx.spend(tokens=5)
    await asyncio.sleep(600)


@app.task(budget={"tokens": 1}, on_budget="pause")
async def on_budget(ctx: Context, n: str) -> None:
    ctx.spend(tokens=5)
    await asyncio.sleep(600)


@app.task(pools=["declared"])
async def pools(ctx: Context, n: str) -> list[str]:
    return list(ctx.job.slots)


@app.task(memory="400MB", retry=0)
def memory(n: str) -> int:
    return len(bytearray(2 << 30))


@app.task(preserve_artifacts=False)
async def preserve_artifacts(ctx: Context, n: str) -> None:
    await ctx.artifact("report.txt", b"not to be kept")
    ctx.emit("runs")
    await asyncio.sleep(600)


@app.task(cancel_pauses=True)
async def cancel_pauses(ctx: Context, n: str) -> None:
    ctx.emit("runs")
    await asyncio.sleep(600)


class Hangs:
    async def __aenter__(self) -> "Hangs":
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.sleep(600)


@app.task(close_timeout="100ms")
async def close_timeout(ctx: Context, n: str) -> str:
    ctx.resources.add(await Hangs().__aenter__())
    return "not closed in time"


@app.task(orphan="fail")
async def orphan(n: str) -> None:
    await asyncio.sleep(600)


@app.task(tags=["declared"])
async def tags(n: str) -> None: ...


@app.task(target="held:{n}")
async def target(n: str) -> None:
    await until_let_go()


@app.task(unique="unique:{n}")
async def unique(n: str) -> None:
    await until_let_go()


@app.task(limits=["closed"])
async def limits(n: str) -> None: ...


@app.task
async def undo(n: str) -> None: ...


@app.task(compensate=undo)
async def compensate(n: str) -> None: ...


@app.task(name="spawns")
async def spawns(ctx: Context, tasks: list[str], n: str) -> list[int]:
    return [(await ctx.aspawn(app.tasks[task], n=n)).id for task in tasks]


TASKS: dict[str, Any] = {
    option: next(task for task in app.tasks.values() if task.function.__name__ == option)
    for option in (
        *("name", "executor", "queue", "priority", "retry", "timeout", "deadline", "grace"),
        *("ask_for", "last_rung", "block_on", "budget", "on_budget", "pools", "memory"),
        *("preserve_artifacts", "cancel_pauses", "close_timeout", "orphan", "tags", "target"),
        *("unique", "compensate", "limits"),
    )
}
