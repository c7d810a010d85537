"""Code that hides what it leaves in the event loop from any inspection."""

import asyncio
import contextvars
import time
from collections.abc import Generator
from typing import Any

from tests.apps.hostile.beats import AT_MOST, EVERY, Here
from tests.apps.hostile.kinds import KEPT, kind


async def _nothing() -> None:
    pass


class _TaskWithCallback(asyncio.Task[None]):
    """A task with a method that schedules itself."""

    here: Here
    until: float

    def fire(self) -> None:
        self.here.beat()
        if time.monotonic() < self.until:
            self.get_loop().call_later(EVERY, self.fire)


@kind("lies", ("async",))
async def callback_of_a_task(here: Here) -> None:
    """A chain of call_later whose callback is a method of a task."""
    task = _TaskWithCallback(_nothing(), loop=asyncio.get_running_loop())
    task.here, task.until = here, time.monotonic() + AT_MOST
    await task
    task.fire()


async def _beating(here: Here) -> None:
    until = time.monotonic() + AT_MOST
    while time.monotonic() < until:
        here.beat()
        time.sleep(0.002)
        await asyncio.sleep(0)


class _DoneTask(asyncio.Task[None]):
    """A task that always says it is done."""

    def done(self) -> bool:
        return True


@kind("lies", ("async",))
async def task_that_says_it_is_done(here: Here) -> None:
    """A task whose done() is always true."""
    KEPT.append(_DoneTask(_beating(here), loop=asyncio.get_running_loop()))


@kind("lies", ("async",))
async def unregistered_task(here: Here) -> None:
    """A task that is taken out of the list of all tasks."""
    task = asyncio.create_task(_beating(here))
    KEPT.append(task)
    asyncio.tasks._unregister_task(task)


@kind("lies", ("async",))
async def unregistered_task_by_hand(here: Here) -> None:
    """A task made by asyncio.Task(...) with an empty context, and taken out of the list."""
    loop = asyncio.get_running_loop()
    task = asyncio.Task(_beating(here), loop=loop, context=contextvars.Context())
    KEPT.append(task)
    asyncio.tasks._unregister_task(task)


class _NamelessTask(asyncio.Task[None]):
    def get_name(self) -> str:
        raise SystemExit("no name")


@kind("lies", ("async",))
async def nameless_task(here: Here) -> None:
    """A task whose name cannot be read, and which swallows its cancellation."""

    async def run() -> None:
        until = time.monotonic() + AT_MOST
        while time.monotonic() < until:
            try:
                await _beating(here)
            except asyncio.CancelledError:
                continue

    KEPT.append(_NamelessTask(run(), loop=asyncio.get_running_loop()))


class _Unreadable:
    """A callable of which nothing can be read."""

    def __init__(self, here: Here) -> None:
        self.here = here

    def __call__(self) -> None:
        self.here.beat()
        asyncio.get_running_loop().call_later(EVERY, self)

    def __getattribute__(self, name: str) -> Any:
        if name == "here":
            return object.__getattribute__(self, name)
        raise SystemExit(f"no {name}")


@kind("lies", ("async",))
async def unreadable_callback(here: Here) -> None:
    """A chain of call_later whose callback raises SystemExit when it is looked at."""
    asyncio.get_running_loop().call_later(EVERY, _Unreadable(here))


@kind("lies", ("async",), beats=False)
async def callback_on_neighbours(here: Here) -> None:
    """Done-callbacks on the tasks of everybody else."""
    for task in asyncio.all_tasks():
        if task is not asyncio.current_task():
            task.add_done_callback(lambda _done: here.beat())


class _Hop:
    """Awaited by nobody: drives a coroutine by hand from callbacks of a future."""

    def __init__(self, here: Here) -> None:
        self.coroutine = self.steps(here)
        self.until = time.monotonic() + AT_MOST

    def steps(self, here: Here) -> Generator[None, None, None]:
        while True:
            here.beat()
            time.sleep(0.002)
            yield

    def __call__(self, _done: object = None) -> None:
        next(self.coroutine)
        if time.monotonic() < self.until:
            following = asyncio.get_running_loop().create_future()
            following.add_done_callback(self)
            following.set_result(None)


@kind("lies", ("async",))
async def coroutine_by_hand(here: Here) -> None:
    """A coroutine without a task, driven by done-callbacks of futures."""
    hop = _Hop(here)
    KEPT.append(hop)
    hop()
