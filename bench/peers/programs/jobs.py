"""The functions that every peer runs; only how they are registered differs."""

import asyncio
import time
from collections.abc import Callable

from bench.peers.programs.notes import now, ours

LONG = 60.0  # seconds; nobody waits for the end of these
NAP = 40.0
_STEP = 0.05
_ASK = 0.01


async def noop(key: str) -> None:
    ours.count()


def plain_noop(key: str) -> None:
    ours.count()


async def enter(key: str) -> None:
    ours.note("entered", key)


def plain_enter(key: str) -> None:
    ours.note("entered", key)


async def wait(key: str) -> None:
    """A coroutine that waits for something that does not come."""
    ours.note("entered", key)
    try:
        await asyncio.sleep(LONG)
    except BaseException:
        ours.note("stopped", key)
        raise


async def wait_asking(key: str, is_to_stop: Callable[[], bool]) -> bool:
    """The same, where code has to ask by itself whether it is to stop; says whether it was."""
    ours.note("entered", key)
    end = now() + LONG
    while now() < end:
        if is_to_stop():
            ours.note("stopped", key)
            return True
        await asyncio.sleep(_ASK)
    return False


async def nap(key: str) -> None:
    """One of a thousand that sleep."""
    ours.count()
    await asyncio.sleep(NAP)


def block(key: str) -> None:
    """A plain function that sleeps in one system call after the other."""
    ours.note("entered", key)
    end = now() + LONG
    try:
        while now() < end:
            time.sleep(_STEP)
    except BaseException:
        ours.note("stopped", key)
        raise


def compute(key: str) -> None:
    """A plain function that never lets go of the processor."""
    ours.note("entered", key)
    end = now() + LONG
    number = 0
    try:
        while now() < end:
            for step in range(20_000):
                number += step
    except BaseException:
        ours.note("stopped", key)
        raise
