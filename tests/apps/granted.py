"""Jobs that hold grants and reservations, and retry as a function decides, in every executor."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

from tenure import Context, Discard, Retry, Tenure
from tests.apps.stopping import NEVER, started

app = Tenure()


class Throttled(Exception):
    """As an HTTP client raises it."""

    def __init__(self, seconds: str) -> None:
        super().__init__("429")
        self.response = type("Response", (), {"headers": {"Retry-After": seconds}})()


class Fatal(ValueError):
    pass


ODD: dict[str, Any] = {
    "no text": "soon",
    "negative": -5,
    "not a number": float("nan"),
    "too long": timedelta.max,
    "an object": object(),
    "a class": ValueError,
}


def decide(error: BaseException, ctx: Context) -> Any:
    match str(error):
        case "soon":
            return 0.001
        case "stop":
            return False
        case "discard":
            raise Discard("not worth it")
        case "broken":
            raise RuntimeError("the function is broken")
        case "late":
            time.sleep(60)
        case odd if odd in ODD:
            return ODD[odd]
    return None


def note(folder: str, word: str) -> None:
    with Path(folder, "notes").open("a") as notes:
        notes.write(f"{word} {time.time()}\n")


def hold(ctx: Context, how: str, folder: str) -> Any:
    if how == "limit":
        with ctx.limit("api", tokens=10) as grant:
            note(folder, "in")
            grant.used(tokens=4)
            note(folder, "out")
    elif how == "throttled":
        with ctx.limit("api") as grant:
            grant.throttled(retry_after=30)
    elif how == "keep":
        with ctx.limit("api"):
            started(ctx)
            time.sleep(NEVER)
    elif how == "reserve":
        with ctx.reserve(tokens=60) as reserved:
            reserved.used(tokens=25)
        with ctx.reserve(tokens=30):
            pass
        try:
            with ctx.reserve(tokens=20):
                raise LookupError  # noqa: TRY301
        except LookupError:
            pass
    elif how == "too much":
        with ctx.reserve(tokens=101):
            pass
    return "done"


async def give_up(what: Callable[[], Any]) -> None:
    """Wait in vain for what this job holds itself, then get it when it is free."""
    async with what() as held:
        held.used(tokens=0)
        with suppress(TimeoutError):
            async with asyncio.timeout(0.3), what():
                pass
    await asyncio.sleep(0.5)
    async with asyncio.timeout(5), what():
        pass


async def hold_async(ctx: Context, how: str, folder: str) -> Any:
    if how == "gives up a limit":
        await give_up(lambda: ctx.limit("api"))
    elif how == "gives up a reservation":
        await give_up(lambda: ctx.reserve(tokens=40))
    elif how == "limit":
        async with ctx.limit("api", tokens=10) as grant:
            note(folder, "in")
            grant.used(tokens=4)
            note(folder, "out")
    elif how == "throttled":
        async with ctx.limit("api") as grant:
            grant.throttled(retry_after=30)
    elif how == "keep":
        async with ctx.limit("api"):
            started(ctx)
            await asyncio.sleep(NEVER)
    elif how == "reserve":
        async with ctx.reserve(tokens=60) as reserved:
            reserved.used(tokens=25)
        async with ctx.reserve(tokens=30):
            pass
        try:
            async with ctx.reserve(tokens=20):
                raise LookupError  # noqa: TRY301
        except LookupError:
            pass
    elif how == "too much":
        async with ctx.reserve(tokens=101):
            pass
    return "done"


def _fail(how: str) -> None:
    if how == "after":
        raise Throttled("40")
    if how == "never":
        raise Fatal(how)
    raise KeyError(how) if how == "key" else ValueError(how)


DECLARED: dict[str, Any] = {"budget": {"tokens": 100}, "retry": 0}


@app.task(**DECLARED)
async def holds_async(ctx: Context, how: str, folder: str = "") -> Any:
    return await hold_async(ctx, how, folder)


@app.task(executor="process", **DECLARED)
def holds_process(ctx: Context, how: str, folder: str = "") -> Any:
    return hold(ctx, how, folder)


@app.task(executor="thread", **DECLARED)
def holds_thread(ctx: Context, how: str, folder: str = "") -> Any:
    return hold(ctx, how, folder)


@app.task(retry=Retry(max=2, base="1h", cap="1h", function=decide))
async def decides_async(how: str) -> None:
    _fail(how)


@app.task(retry=Retry(max=2, base="1h", cap="1h", function=decide), executor="process")
def decides_process(how: str) -> None:
    _fail(how)


@app.task(retry=Retry(max=2, base="1h", cap="1h", function=decide), executor="thread")
def decides_thread(how: str) -> None:
    _fail(how)


@app.task(retry=Retry(max=2, base="1ms", retry_after=True, never=(ValueError,)))
async def asks_for_time(how: str) -> None:
    _fail(how)


@app.task(limits=["models:{model}"])
async def limited(model: str) -> str:
    return model


HOLDING = {"async": holds_async, "process": holds_process, "thread": holds_thread}
DECIDING: dict[str, Callable[..., Any]] = {
    "async": decides_async,
    "process": decides_process,
    "thread": decides_thread,
}
