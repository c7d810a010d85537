"""The callbacks that an event loop will run, or may run, and the attempts that registered them.

Each has the context in which it was registered, which tells its owner: callbacks that are ready,
timers, readers and writers, servers and handlers of signals. Tasks are found in the same way.
"""

import asyncio
import contextvars
import gc
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from tenure.runtime.runner.owners import Owner, owner_in

_LIBRARIES = tuple({f"{sysconfig.get_path(name)}/" for name in ("stdlib", "purelib", "platlib")})
_STEPS = ("TaskStepMethWrapper", "task_wakeup", "_Task__step", "_Task__wakeup")
_ASYNCIO = f"{Path(asyncio.__file__).parent}/"


class Callback(NamedTuple):
    """One callback of an event loop."""

    owner: Owner | None
    name: str
    cancel: Callable[[], object]


def tasks(loop: Any) -> set[asyncio.Task[Any]]:
    """Return the tasks of the loop; some may be done.

    A task that is ready to run is found by that, also if it is not in the list of all tasks.
    """
    return {*asyncio.all_tasks(loop), *filter(None, map(_stepped_by, tuple(loop._ready)))}


def owner_of(task: asyncio.Task[Any]) -> Owner | None:
    return owner_in(_context_of(task))


def _stepped_by(handle: Any) -> asyncio.Task[Any] | None:
    """Return the task whose next step a callback is; None for every other callback."""
    callback = handle._callback
    bound_to = getattr(callback, "__self__", None)
    if type(callback).__name__ in _STEPS or getattr(callback, "__name__", "") in _STEPS:
        return bound_to if isinstance(bound_to, asyncio.Task) else None
    return None


def callbacks(
    loop: Any, tasks: Iterable[Any], internal: Callable[[Any], bool]
) -> Iterator[Callback]:
    """Return the callbacks of the loop and its tasks, without steps of tasks and `internal` ones.

    Connections are left out unless their protocol is code of the app or a server accepted them:
    they may be those of a client that all jobs share, and run no code of a job.
    """
    for handle in (*loop._ready, *loop._scheduled):
        bound_to = getattr(handle._callback, "__self__", None)
        if not (handle._cancelled or _stepped_by(handle) or internal(bound_to)):
            name = getattr(handle._callback, "__qualname__", "a callback")
            yield Callback(owner_in(handle._context), f"the callback {name}", handle.cancel)
    for task in tasks:
        for callback, context in task._callbacks or ():
            if not internal(getattr(callback, "__self__", None)):
                remove = partial(task.remove_done_callback, callback)
                yield Callback(owner_in(context), "a callback of a task", remove)
    for number, handle in loop._signal_handlers.items():
        remove = partial(loop.remove_signal_handler, number)
        yield Callback(owner_in(handle._context), f"the handler of signal {number}", remove)
    for key in tuple(loop._selector.get_map().values()):
        for handle, remove in zip(key.data, (loop.remove_reader, loop.remove_writer), strict=True):
            if handle is None or handle._cancelled:
                continue
            cancel = _cancel_watch(loop, key.fd, handle, remove)
            if cancel is not None and not internal(getattr(handle._callback, "__self__", None)):
                yield Callback(owner_in(handle._context), f"a watch on file {key.fd}", cancel)


def _cancel_watch(
    loop: Any, fd: int, handle: Any, remove: Callable[[int], object]
) -> Callable[[], object] | None:
    """Return how to end the watch on a file; None if it can run no code of a job."""
    callback = handle._callback
    bound_to = getattr(callback, "__self__", None)
    if isinstance(bound_to, asyncio.BaseTransport):
        accepted = getattr(bound_to, "_server", None) is not None
        return _abort(bound_to) if accepted or _is_of_app(bound_to.get_protocol()) else None
    if bound_to is not None and bound_to is loop and callback.__name__ == "_accept_connection":
        return partial(loop._stop_serving, handle._args[1])
    code = getattr(callback, "__code__", None)
    if code is not None and code.co_filename.startswith(_ASYNCIO):
        return None  # such as waiting for the end of a process
    return partial(remove, fd)


def _abort(transport: Any) -> Callable[[], object]:
    abort: Callable[[], object] = getattr(transport, "abort", transport.close)
    return abort


def _is_of_app(protocol: Any) -> bool:
    """Tell whether a protocol is code of the app, not of Python or an installed library."""
    protocol = getattr(protocol, "_app_protocol", protocol)  # inside TLS
    module = sys.modules.get(type(protocol).__module__)
    file = getattr(module, "__file__", None) or ""
    return not file.startswith(_LIBRARIES)


def _context_of(task: asyncio.Task[Any]) -> contextvars.Context | None:
    if hasattr(task, "get_context"):
        context: contextvars.Context = task.get_context()
        return context
    # Before Python 3.12 a task has no method that returns its context.
    contexts = (it for it in gc.get_referents(task) if isinstance(it, contextvars.Context))
    return next(contexts, None)
