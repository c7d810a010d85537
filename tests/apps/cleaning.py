"""Jobs with hooks and resources, which are cleaned up after them."""

import asyncio
import os
import time

from tenure import Context, Retry, Tenure
from tenure.resources import ResourceManager
from tests.apps.stopping import FOLDER, NEVER, mark, started

app = Tenure()

# Hooks.


@app.task(retry=0)
async def hooked(ctx: Context, fails: bool) -> None:
    started(ctx)
    if fails:
        raise ValueError("no good")
    await asyncio.sleep(NEVER)


@hooked.on_cancel
async def _hooked_cancel(ctx: Context) -> None:
    await asyncio.sleep(0.01)
    mark(f"hook-{ctx.job.id}", f"cancel: {ctx.stop_reason}")


@hooked.on_failure
async def _hooked_failure(ctx: Context, error: BaseException) -> None:
    await asyncio.sleep(0.01)
    mark(f"hook-{ctx.job.id}", f"failure: {error}")


@app.task(retry=0)
def function_hooked(ctx: Context, fails: bool) -> None:
    started(ctx, os.getpid())
    if fails:
        raise ValueError("no good")
    time.sleep(NEVER)


@function_hooked.on_cancel
def _function_hooked_cancel(ctx: Context) -> None:
    mark(f"hook-{ctx.job.id}", f"cancel: {ctx.stop_reason}")


@function_hooked.on_failure
def _function_hooked_failure(ctx: Context, error: BaseException) -> None:
    mark(f"hook-{ctx.job.id}", f"failure: {error}")


class FalsyError(Exception):
    """An error that is empty, like a collection."""

    def __len__(self) -> int:
        return 0


@app.task(retry=0)
async def fails_with_a_falsy_error() -> None:
    raise FalsyError("no good")


@app.task(retry=0)
def function_fails_with_a_falsy_error() -> None:
    raise FalsyError("no good")


fails_with_a_falsy_error.on_failure(_hooked_failure)
function_fails_with_a_falsy_error.on_failure(_function_hooked_failure)


@app.task(retry=0)
async def badly_hooked(ctx: Context) -> None:
    started(ctx)
    await asyncio.sleep(NEVER)


@badly_hooked.on_cancel
async def _badly_hooked_cancel(ctx: Context) -> None:
    mark(f"hook-{ctx.job.id}")
    raise RuntimeError("the hook is broken")


@app.task(retry=0)
def function_badly_hooked(ctx: Context) -> None:
    started(ctx, os.getpid())
    time.sleep(NEVER)


@function_badly_hooked.on_cancel
def _function_badly_hooked_cancel(ctx: Context) -> None:
    mark(f"hook-{ctx.job.id}")
    raise RuntimeError("the hook is broken")


@app.task(retry=Retry(max=2, base="1ms"))
async def fails_thrice(ctx: Context) -> None:
    raise ValueError(f"attempt {ctx.attempt}")


@fails_thrice.on_failure
def _fails_thrice_failure(ctx: Context, error: BaseException) -> None:
    mark(f"hook-{ctx.job.id}", f"failure: {error}")


@app.task(retry=0, timeout="300ms")
async def hooked_and_too_slow(ctx: Context) -> None:
    started(ctx)
    await asyncio.sleep(NEVER)


@hooked_and_too_slow.on_cancel
def _too_slow_cancel(ctx: Context) -> None:
    mark(f"hook-{ctx.job.id}", "cancel")


@hooked_and_too_slow.on_failure
def _too_slow_failure(ctx: Context, error: BaseException) -> None:
    mark(f"hook-{ctx.job.id}", f"failure: {error}")


# Resources.


class Noted(ResourceManager):
    """Closes, hangs or refuses, and notes each try."""

    def __init__(self, job: int, name: str, how: str) -> None:
        self.name = name
        self._job = job
        self._how = how

    async def close_gracefully(self, timeout_seconds: float = 5.0) -> bool:  # noqa: ARG002
        if self._how == "closes":
            mark(f"closed-{self._job}", self.name)
            return True
        await asyncio.sleep(NEVER)
        return True

    async def force_close(self) -> None:
        if self._how == "fails":
            raise RuntimeError("it is stuck")
        mark(f"closed-{self._job}", f"{self.name} by force")

    def is_active(self) -> bool:
        return True


@app.task(retry=Retry(max=3, base="10ms"))
async def closes_again(thing: str) -> str:
    mark(f"closed-again-{thing}")
    return thing


def _register(ctx: Context, fails: bool) -> None:
    job = ctx.job.id
    ctx.resources.add(Noted(job, "good", "closes"))
    ctx.resources.add(Noted(job, "slow", "hangs"), timeout="200ms")
    if fails:
        ctx.resources.add(
            Noted(job, "bad", "fails"),
            timeout="100ms",
            again=(closes_again, {"thing": f"{job}"}),
        )


@app.task(retry=0)
async def has_resources(ctx: Context, how: str = "wait", fails: bool = False) -> None:
    _register(ctx, fails)
    await ctx.emit({"page": 1})
    ctx.progress(1, 2, "in the middle")
    started(ctx)
    if how == "fail":
        raise ValueError("no good")
    if how == "wait":
        await asyncio.sleep(NEVER)


@app.task(retry=0)
def function_has_resources(ctx: Context, how: str = "wait", fails: bool = False) -> None:
    _register(ctx, fails)
    ctx.emit({"page": 1})
    ctx.progress(1, 2, "in the middle")
    started(ctx, os.getpid())
    if how == "fail":
        raise ValueError("no good")
    if how == "wait":
        time.sleep(NEVER)


class Gated(ResourceManager):
    """Closes when the test allows it."""

    name = "gated"

    def __init__(self, job: int) -> None:
        self._job = job

    async def close_gracefully(self, timeout_seconds: float = 5.0) -> bool:  # noqa: ARG002
        while not (FOLDER / f"close-{self._job}").exists():
            await asyncio.sleep(0.02)
        return True

    async def force_close(self) -> None:
        mark(f"closed-{self._job}", "by force")

    def is_active(self) -> bool:
        return True


@app.task(retry=0, close_timeout="1h", grace="1h")
async def closes_when_allowed(ctx: Context) -> None:
    ctx.resources.add(Gated(ctx.job.id))
    started(ctx)
    await asyncio.sleep(NEVER)


@app.task(retry=0)
async def sleeps_on(ctx: Context) -> None:
    started(ctx)
    await asyncio.sleep(NEVER)
