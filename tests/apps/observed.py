"""Jobs of which everything can be seen: in the log, in metrics, in traces."""

import asyncio
import os
import time
from pathlib import Path

from pydantic import SecretStr

from tenure import Context, Retry, Tenure
from tenure.resources import ResourceManager

app = Tenure()
FOLDER = Path(os.environ.get("TENURE_TEST_FOLDER", "."))


def started(ctx: Context) -> None:
    (FOLDER / f"started-{ctx.job.id}").touch()


@app.task(queue="calm")
async def calm(said: str = "") -> str:
    return said


@app.task(queue="calm")
def calm_function() -> None:
    return None


@app.task(queue="calm", retry=0)
async def spawns(ctx: Context, said: str) -> None:
    await ctx.await_for([await ctx.aspawn(calm, said)])


@app.task(queue="long", retry=0)
async def waits(ctx: Context) -> None:
    started(ctx)
    await asyncio.sleep(3600)


@app.task(queue="long", retry=0)
def sleeps(ctx: Context) -> None:
    started(ctx)
    time.sleep(3600)


@app.task(queue="long", retry=0)
def hogs(ctx: Context) -> None:
    """Does not end before it is killed."""
    while True:
        try:
            started(ctx)
            time.sleep(3600)
        except BaseException:  # noqa: BLE001 - that is the point
            continue


@app.task(queue="long", retry=0)
async def blocks(seconds: float) -> None:
    time.sleep(seconds)


@app.task(queue="bad", retry=0)
async def fails(why: str) -> None:
    raise ValueError(why)


@app.task(queue="bad", retry=Retry(max=1, base="1ms"))
async def fails_twice() -> None:
    raise OSError("the disk is full")


@app.task(queue="bad", retry=0)
async def betrays(key: SecretStr) -> None:
    raise ValueError(f"cannot log in with {key.get_secret_value()}")


@app.task(queue="bad", retry=0, timeout="200ms")
async def too_slow(ctx: Context) -> None:
    started(ctx)
    await asyncio.sleep(3600)


@app.task(queue="bad", retry=0)
def dies() -> None:
    os.abort()


class Thing(ResourceManager):
    """Closes well, by force only, or not at all."""

    def __init__(self, how: str) -> None:
        self._how = how
        self._open = True

    async def close_gracefully(self, timeout_seconds: float = 5.0) -> bool:  # noqa: ARG002
        self._open = self._how != "well"
        return not self._open

    async def force_close(self) -> None:
        if self._how == "not at all":
            raise OSError("it cannot be closed")
        self._open = False

    def is_active(self) -> bool:
        return self._open


@app.task(queue="long", retry=0)
async def has_things(ctx: Context) -> None:
    for how in ("well", "well", "by force", "not at all"):
        ctx.resources.add(Thing(how), name=how)
    started(ctx)
    await asyncio.sleep(3600)
