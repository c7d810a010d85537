"""Code that does not end when it is told to: each kind never returns."""

import asyncio
import itertools
import re
import signal
import time
from collections import deque
from collections.abc import Generator
from typing import Any

from tests.apps.hostile.beats import AT_MOST, EVERY, Here, append
from tests.apps.hostile.kinds import IN_PYTHON, kind


def _ready(here: Here) -> None:
    """Say it before what never ends begins."""
    append(here.readiness, "ready")


@kind("stubborn", ("async",))
async def swallows_cancellation(here: Here) -> None:
    """A coroutine that ignores every cancellation."""
    _ready(here)
    until = time.monotonic() + AT_MOST
    while time.monotonic() < until:
        try:
            here.beat()
            await asyncio.sleep(EVERY)
        except asyncio.CancelledError:
            continue


@kind("stubborn", IN_PYTHON)
def swallows_everything(here: Here) -> None:
    """while True: try: sleep, except BaseException: pass."""
    _ready(here)
    until = time.monotonic() + AT_MOST
    while time.monotonic() < until:
        try:
            here.beat()
            time.sleep(EVERY)
        except BaseException:  # noqa: BLE001 - that is the kind
            continue


@kind("stubborn", IN_PYTHON, beats=False)
def never_ending_finally(here: Here) -> None:
    """A finally that never ends."""
    try:
        _ready(here)
        time.sleep(AT_MOST)
    finally:
        here.beat_for_ever()


@kind("stubborn", ("async",), beats=False)
async def never_ending_async_finally(here: Here) -> None:
    """A finally of a coroutine that awaits for ever."""
    try:
        _ready(here)
        await asyncio.sleep(AT_MOST)
    finally:
        until = time.monotonic() + AT_MOST
        while time.monotonic() < until:
            here.beat()
            try:
                await asyncio.sleep(EVERY)
            except asyncio.CancelledError:
                continue


@kind("stubborn", IN_PYTHON, beats=False)
def backtracking(here: Here) -> None:
    """A regular expression with catastrophic backtracking."""
    _ready(here)
    re.match(r"(a+)+b", "a" * 40)


@kind("stubborn", IN_PYTHON)
def blocking_sleep(here: Here) -> None:
    """time.sleep, which holds up the event loop."""
    _ready(here)
    here.beat_for_ever()


@kind("stubborn", IN_PYTHON, beats=False)
def one_long_sleep(here: Here) -> None:
    """One blocking call that lasts far longer than any grace."""
    _ready(here)
    time.sleep(AT_MOST)


@kind("stubborn", ("async", "process"), beats=False)
def holds_the_lock(here: Here) -> None:
    """C code that never lets the interpreter's lock go and looks for no signal."""
    _ready(here)
    deque(itertools.repeat(0), maxlen=0)


@kind("stubborn", ("async", "process"))
def blocked_signals(here: Here) -> None:
    """All signals blocked with pthread_sigmask."""
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    _ready(here)
    here.beat_for_ever()


@kind("stubborn", ("async", "process"))
def default_signal(here: Here) -> None:
    """SIGUSR1 reset to its default, which is death."""
    signal.signal(signal.SIGUSR1, signal.SIG_DFL)
    _ready(here)
    here.beat_for_ever()


@kind("stubborn", ("async", "process"))
def ignored_signals(here: Here) -> None:
    """SIGUSR1 and SIGTERM ignored."""
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _ready(here)
    here.beat_for_ever()


class _Unmoved:
    """An awaitable that yields for ever and takes every exception that is thrown into it."""

    def __init__(self, here: Here) -> None:
        self.here = here

    def __await__(self) -> Generator[Any, None, None]:
        until = time.monotonic() + AT_MOST
        while time.monotonic() < until:
            try:
                self.here.beat()
                time.sleep(0.005)
                yield
            except BaseException:  # noqa: BLE001 - that is the kind
                continue


@kind("stubborn", ("async",))
async def unmoved_awaitable(here: Here) -> None:
    """An awaitable of its own that takes every exception that is thrown into it."""
    _ready(here)
    await _Unmoved(here)


@kind("stubborn", ("async",))
async def uncancels_itself(here: Here) -> None:
    """A coroutine that takes back every cancellation with uncancel."""
    _ready(here)
    task = asyncio.current_task()
    assert task is not None
    until = time.monotonic() + AT_MOST
    while time.monotonic() < until:
        try:
            here.beat()
            await asyncio.sleep(EVERY)
        except asyncio.CancelledError:
            task.uncancel()


@kind("stubborn", ("async",))
async def awaits_a_shield(here: Here) -> None:
    """A coroutine that waits for a shielded task again and again."""

    async def work() -> None:
        until = time.monotonic() + AT_MOST
        while time.monotonic() < until:
            here.beat()
            await asyncio.sleep(EVERY)

    _ready(here)
    inner = asyncio.create_task(work())
    while not inner.done():
        try:
            await asyncio.shield(inner)
        except asyncio.CancelledError:
            continue


@kind("stubborn", ("async",))
async def another_exception(here: Here) -> None:
    """A coroutine that turns its cancellation into another exception, again and again."""
    _ready(here)
    until = time.monotonic() + AT_MOST
    while time.monotonic() < until:
        try:
            try:
                here.beat()
                await asyncio.sleep(EVERY)
            except asyncio.CancelledError:
                raise ValueError("no") from None
        except ValueError:
            continue
