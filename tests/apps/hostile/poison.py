"""Code that harms its runner; each kind ends by itself, and with it perhaps the runner."""

import asyncio
import builtins
import ctypes
import os
import resource
import signal
import socket
import sys
import threading
import time
from typing import Any

from tests.apps.hostile.beats import Here
from tests.apps.hostile.kinds import IN_PYTHON, KEPT, kind


@kind("poison", IN_PYTHON, beats=False, stays=False)
def sys_exit(here: Here) -> None:
    """sys.exit."""
    sys.exit(3)


@kind("poison", IN_PYTHON, beats=False, stays=False)
def keyboard_interrupt(here: Here) -> None:
    """KeyboardInterrupt."""
    raise KeyboardInterrupt


@kind("poison", ("async",), beats=False, stays=False)
async def exit_in_a_task(here: Here) -> None:
    """sys.exit in a task and in a callback of the loop."""

    async def leave() -> None:
        sys.exit(3)

    asyncio.get_running_loop().call_soon(sys.exit, 4)
    await asyncio.create_task(leave())


@kind("poison", IN_PYTHON, beats=False, stays=False)
def immediate_exit(here: Here) -> None:
    """os._exit."""
    os._exit(0)


@kind("poison", IN_PYTHON, beats=False, stays=False)
def abort(here: Here) -> None:
    """os.abort."""
    os.abort()


@kind("poison", IN_PYTHON, beats=False, stays=False)
def segmentation_fault(here: Here) -> None:
    """A read of address 0."""
    ctypes.string_at(0)


@kind("poison", IN_PYTHON, beats=False, stays=False)
def kills_itself(here: Here) -> None:
    """SIGKILL to its own process."""
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(5)


@kind("poison", ("async",), beats=False, spoils=True)
async def closed_loop(here: Here) -> None:
    """loop.close while it runs, and with its checks patched away."""
    loop: Any = asyncio.get_running_loop()
    loop._check_running = lambda: None
    loop.is_running = lambda: False
    loop.close()


@kind("poison", ("async",), beats=False)
async def stopped_loop(here: Here) -> None:
    """loop.stop."""
    asyncio.get_running_loop().stop()
    await asyncio.sleep(0.05)


@kind("poison", ("async",), beats=False, spoils=True)
async def broken_task_factory(here: Here) -> None:
    """A task factory that raises."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise SystemExit("no more tasks")

    asyncio.get_running_loop().set_task_factory(refuse)


@kind("poison", ("async",), beats=False, spoils=True)
async def patched_call_soon(here: Here) -> None:
    """loop.call_soon replaced by a function that drops every callback."""
    loop: Any = asyncio.get_running_loop()
    loop.call_soon = lambda *_, **__: asyncio.Handle(print, (), loop)


@kind("poison", ("async",), beats=False, spoils=True)
async def patched_call_later(here: Here) -> None:
    """loop.call_later and call_at replaced by functions that raise."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise RuntimeError("no timers")

    loop: Any = asyncio.get_running_loop()
    loop.call_later = loop.call_at = refuse


@kind("poison", ("async",), beats=False, spoils=True)
async def patched_sleep(here: Here) -> None:
    """asyncio.sleep replaced by a function that raises."""

    async def refuse(*_: Any, **__: Any) -> None:
        raise RuntimeError("no sleep")

    asyncio.sleep = refuse  # type: ignore[assignment]


@kind("poison", ("async",), beats=False, spoils=True)
async def patched_create_task(here: Here) -> None:
    """loop.create_task replaced by None."""
    loop: Any = asyncio.get_running_loop()
    loop.create_task = None


@kind("poison", ("async",), beats=False, spoils=True)
async def patched_run_in_executor(here: Here) -> None:
    """loop.run_in_executor and asyncio.to_thread replaced by functions that never return."""

    async def never(*_: Any, **__: Any) -> None:
        await asyncio.Event().wait()

    loop: Any = asyncio.get_running_loop()
    loop.run_in_executor = never
    asyncio.to_thread = never  # type: ignore[assignment]


@kind("poison", IN_PYTHON, beats=False, spoils=True)
def patched_builtins(here: Here) -> None:
    """builtins.len and isinstance replaced by functions that raise."""

    def refuse(*_: Any) -> Any:
        raise RuntimeError("no builtins")

    builtins.len = builtins.isinstance = refuse


@kind("poison", IN_PYTHON, beats=False, spoils=True)
def closed_descriptors(here: Here) -> None:
    """os.closerange over all file descriptors."""
    os.closerange(0, 4096)


@kind("poison", IN_PYTHON, beats=False)
def exhausted_descriptors(here: Here) -> None:
    """Sockets that are opened until there is no descriptor left."""
    try:
        while len(KEPT) < 100_000:
            KEPT.append(socket.socket())
    except OSError:
        return


@kind("poison", IN_PYTHON, beats=False)
def no_descriptors(here: Here) -> None:
    """RLIMIT_NOFILE set to 3: nothing can be opened any more."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))


@kind("poison", IN_PYTHON, beats=False, spoils=True, stays=False)
def no_memory(here: Here) -> None:
    """RLIMIT_AS below what is in use: every allocation fails."""
    resource.setrlimit(resource.RLIMIT_AS, (1 << 20, 1 << 20))
    bytearray(1 << 22)


@kind("poison", ("async",), beats=False)
async def no_threads(here: Here) -> None:
    """Threads that cannot be started any more, as under a low limit of processes."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise RuntimeError("can't start new thread")

    threading._start_new_thread = refuse  # type: ignore[attr-defined]
    await asyncio.to_thread(time.time)


@kind("poison", IN_PYTHON, beats=False, spoils=True, stays=False)
def low_recursion_limit(here: Here) -> None:
    """sys.setrecursionlimit just above what is in use."""
    depth, frame = 0, sys._getframe()
    while frame is not None:
        depth, frame = depth + 1, frame.f_back  # type: ignore[assignment]
    sys.setrecursionlimit(depth + 5)
    raise ValueError("too deep")


@kind("poison", IN_PYTHON, beats=False, spoils=True)
def no_modules(here: Here) -> None:
    """sys.modules and sys.path emptied."""
    sys.path.clear()
    sys.modules.clear()


class ExitsWhenShown(Exception):
    def __str__(self) -> str:
        raise SystemExit("shown")

    __repr__ = __str__


class BaseWhenShown(Exception):
    def __str__(self) -> str:
        raise BaseException("shown")  # noqa: TRY002

    __repr__ = __str__


class Liar(Exception):
    """Says that it is a cancellation, and an int."""

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise BaseException("no class")  # noqa: TRY002


class _LyingMeta(type):
    @property
    def __name__(cls) -> str:  # type: ignore[override]
        raise SystemExit("no name")

    @property
    def __module__(cls) -> str:  # type: ignore[override]
        raise SystemExit("no module")


class Nameless(Exception, metaclass=_LyingMeta):
    pass


@kind("poison", IN_PYTHON, beats=False, stays=False)
def exits_when_shown(here: Here) -> None:
    """An exception whose __str__ raises SystemExit."""
    raise ExitsWhenShown


@kind("poison", IN_PYTHON, beats=False, stays=False)
def base_when_shown(here: Here) -> None:
    """An exception whose __str__ raises BaseException."""
    raise BaseWhenShown


@kind("poison", IN_PYTHON, beats=False, stays=False)
def lying_class(here: Here) -> None:
    """An exception whose __class__ raises."""
    raise Liar


@kind("poison", IN_PYTHON, beats=False, stays=False)
def nameless_class(here: Here) -> None:
    """An exception whose type has no name that can be read."""
    raise Nameless


@kind("poison", IN_PYTHON, beats=False, stays=False)
def endless_chain(here: Here) -> None:
    """An exception that is its own cause through others."""
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    raise first


@kind("poison", IN_PYTHON, beats=False, stays=False)
def huge_message(here: Here) -> None:
    """An exception with 5 MB of text."""
    raise ValueError("x" * 5_000_000)


@kind("poison", IN_PYTHON, beats=False, stays=False)
def group_of_exits(here: Here) -> None:
    """A BaseExceptionGroup of SystemExit and KeyboardInterrupt."""
    raise BaseExceptionGroup("both", [SystemExit(1), KeyboardInterrupt()])


class _Unserialisable(dict[str, Any]):
    def items(self) -> Any:
        raise BaseException("no items")  # noqa: TRY002

    def __iter__(self) -> Any:
        raise SystemExit("no keys")

    def __repr__(self) -> str:
        raise SystemExit("no repr")


@kind("poison", IN_PYTHON, beats=False, stays=False)
def unserialisable_result(here: Here) -> Any:
    """A result that raises BaseException when it is written."""
    return _Unserialisable(a=1)


class _Unprintable:
    def __repr__(self) -> str:
        raise SystemExit("no repr")

    __str__ = __repr__


@kind("poison", IN_PYTHON, beats=False, stays=False)
def unprintable_result(here: Here) -> Any:
    """A result of an unknown type whose repr raises SystemExit."""
    return _Unprintable()


@kind("poison", IN_PYTHON, beats=False, stays=False)
def nested_result(here: Here) -> Any:
    """A result that is nested deeper than any stack."""
    nested: list[Any] = []
    for _ in range(200_000):
        nested = [nested]
    return nested
