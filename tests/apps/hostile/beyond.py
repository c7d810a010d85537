"""Code that a stop cannot reach: the limits that the documentation names."""

import asyncio
import gc
import os
import socket
import sys
from pathlib import Path
from typing import Any

from tenure.runtime.guard.processes import ATTEMPT
from tests.apps.hostile.beats import Here
from tests.apps.hostile.kinds import kind


@kind("limits", ("async",), beats=False)
async def audit_hook(here: Here) -> None:
    """sys.addaudithook, which Python offers no way to remove."""

    def hear(event: str, _arguments: Any) -> None:
        if event == "os.listdir":
            here.beat()

    sys.addaudithook(hear)


@kind("limits", ("async",))
async def stolen_context(here: Here) -> None:
    """A chain of call_later in a context that is not its own."""
    loop: Any = asyncio.get_running_loop()
    others = [one for one in loop._scheduled if one._callback.__qualname__ == "LoopRunner._tick"]
    context = others[0]._context

    def fire() -> None:
        here.beat()
        loop.call_later(0.02, fire, context=context)

    fire()


@kind("limits", ("async",), beats=False)
async def finalizer(here: Here) -> None:
    """An object whose __del__ makes the next one, so that every collection runs its code."""

    class Phoenix:
        def __init__(self) -> None:
            self.cycle = self

        def __del__(self) -> None:
            here.beat()
            Phoenix()

    Phoenix()


@kind("limits", ("async",), beats=False)
async def patched_library(here: Here) -> None:
    """A function of a library replaced by one that runs code of the job."""
    original = asyncio.to_thread

    async def to_thread(*args: Any, **kwargs: Any) -> Any:
        here.beat()
        return await original(*args, **kwargs)

    asyncio.to_thread = to_thread


@kind("limits", ("async",))
async def forged_mark(here: Here) -> None:
    """A daemon that carries the mark of a neighbour, read from the neighbour's child."""
    child = os.fork()
    if child == 0:
        os.setsid()
        if os.fork() == 0:
            argv = here.beater()
            os.execve(argv[0], argv, {ATTEMPT: _mark_of_a_neighbour()})
        os._exit(0)
    os.waitpid(child, 0)


def _mark_of_a_neighbour() -> str:
    """Return the mark of a process named sleep."""
    for folder in Path("/proc").iterdir():
        try:
            if (folder / "comm").read_text() != "sleep\n":
                continue
            entries = (folder / "environ").read_bytes().decode().split("\0")
        except OSError:
            continue
        values = dict(entry.partition("=")[::2] for entry in entries)
        if values.get("TENURE_TEST_FOLDER") == os.environ["TENURE_TEST_FOLDER"]:
            return values[ATTEMPT]
    raise AssertionError("no neighbour has a child")


@kind("limits", ("async",))
async def helper_elsewhere(here: Here) -> None:
    """Work that a service outside the worker does for the job."""
    with socket.socket(socket.AF_UNIX) as helper:
        helper.connect(os.environ["TENURE_TEST_HELPER"])
        helper.send(here.beats.encode())


@kind("limits", ("async",), beats=False)
async def environment_of_the_loop(here: Here) -> None:
    """Variables of the environment, which all jobs of an event loop share."""
    os.environ["TENURE_TEST_LEFT"] = here.beats
    gc.collect()
