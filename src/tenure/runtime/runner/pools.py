"""Pools of threads and processes: a pool belongs to the runner, a call to the attempt that made it.

The functions of the standard library that start pools and pass calls to them are wrapped here, in
modules that are not imported yet as soon as they are.
"""

import asyncio
import concurrent.futures.thread
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial, wraps
from types import ModuleType
from typing import Any

from tenure.runtime.guard.guard_state import boottime
from tenure.runtime.runner.attempt import Attempt, PoolCall
from tenure.runtime.runner.owners import Owner, as_runner, owner, run_as, runner_context


class Pools:
    """All calls in pools that this process makes.

    `note_process` is called with the pid of a process that a fork server made for the caller.
    """

    def __init__(self, note_process: Callable[[int], None]) -> None:
        self._note_process = note_process
        self._unknown: dict[PoolCall, float] = {}  # calls without a known owner, by time

    def watch(self) -> None:
        """Attribute every call in a pool to its attempt, and pools to the runner, from now on."""
        self._watch_threads()
        later: dict[str, Callable[[Any], None]] = {
            "concurrent.futures.process": self._watch_processes,
            "loky.process_executor": self._watch_processes,
            "joblib.externals.loky.process_executor": self._watch_processes,
            "anyio.to_process": self._watch_anyio,
            "multiprocessing.pool": self._watch_multiprocessing,
            "multiprocessing.resource_tracker": lambda module: _serve_all(
                module.ResourceTracker, "ensure_running"
            ),
            "multiprocessing.forkserver": lambda module: _serve_all(
                module.ForkServer, "ensure_running"
            ),
            "multiprocessing.popen_forkserver": self._watch_fork_server,
        }
        for name in [name for name in later if name in sys.modules]:
            later.pop(name)(sys.modules[name])
        sys.meta_path.insert(0, _WhenImported(later))

    def unknown(self) -> list[float]:
        """Return the times of calls without a known owner that are not done."""
        self._unknown = {call: at for call, at in self._unknown.items() if not call.done()}
        return list(self._unknown.values())

    def _note(self, call: PoolCall) -> None:
        match owner():
            case Attempt() as attempt:
                attempt.add_call(call)
            case None:
                self._unknown[call] = boottime()

    def _watch_threads(self) -> None:
        """Watch ThreadPoolExecutor, and what runs when any call of a pool is done."""
        pool: Any = concurrent.futures.thread.ThreadPoolExecutor
        start_thread = pool._adjust_thread_count

        @wraps(start_thread)
        def start_thread_for_all(pool: Any) -> None:
            _note_initializer(pool)
            as_runner(start_thread, pool)

        pool._adjust_thread_count = start_thread_for_all
        item: Any = concurrent.futures.thread._WorkItem
        run = item.run

        def note(item: Any) -> None:
            item.owner = owner()
            self._note(item.future)

        @wraps(run)
        def run_as_owner(item: Any, *args: Any) -> None:
            run_as(item.owner, run, item, *args)

        _then(item, "__init__", note)
        item.run = run_as_owner
        future: Any = Future
        add_done_callback = future.add_done_callback

        @wraps(add_done_callback)
        def add_owned_callback(future: Any, callback: Callable[..., Any]) -> None:
            add_done_callback(future, partial(run_as, owner(), callback))

        future.add_done_callback = add_owned_callback

    def _watch_processes(self, module: Any) -> None:
        submit = module.ProcessPoolExecutor.submit

        @wraps(submit)
        def submit_noted(pool: Any, work: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
            call = as_runner(submit, pool, work, *args, **kwargs)
            self._note(call)
            return call

        module.ProcessPoolExecutor.submit = submit_noted

    def _watch_multiprocessing(self, module: Any) -> None:
        """Watch Pool and ThreadPool of multiprocessing, which start everything when made."""
        _serve_all(module.Pool, "__init__")
        self._watch_results(module.ApplyResult, lambda result: result.ready())
        self._watch_results(module.IMapIterator, lambda result: result._index == result._length)

    def _watch_results(self, kind: type[Any], is_done: Callable[[Any], bool]) -> None:
        _then(kind, "__init__", lambda result: self._note(_Result(result, is_done)))

    def _watch_anyio(self, module: Any) -> None:
        """Watch the processes of anyio, which are reused for later calls."""
        run_sync, open_process = module.run_sync, module.open_process

        @wraps(run_sync)
        async def run_sync_noted(*args: Any, **kwargs: Any) -> Any:
            call: Future[None] = Future()
            call.set_running_or_notify_cancel()
            self._note(call)
            try:
                return await run_sync(*args, **kwargs)
            finally:
                call.set_result(None)

        @wraps(open_process)
        async def open_for_all(*args: Any, **kwargs: Any) -> Any:
            opening = open_process(*args, **kwargs)
            return await asyncio.Task(opening, context=runner_context())

        module.run_sync, module.open_process = run_sync_noted, open_for_all

    def _watch_fork_server(self, module: Any) -> None:
        _then(module.Popen, "_launch", lambda popen: self._note_process(popen.pid))


def _note_initializer(pool: Any) -> None:
    """Let the initializer of a thread run for the owner of the call that starts the thread."""
    if (initializer := pool._initializer) is not None:
        if isinstance(initializer, _Initializer):
            initializer = initializer.function
        pool._initializer = _Initializer(owner(), initializer)


class _Initializer:
    """The initializer of a thread in a pool, and its owner."""

    def __init__(self, owner: Owner | None, function: Callable[..., Any]) -> None:
        self.function = function
        self._owner = owner

    def __call__(self, *args: Any) -> None:
        run_as(self._owner, self.function, *args)


class _Result:
    """A call in a pool of multiprocessing, by its result."""

    def __init__(self, result: Any, is_done: Callable[[Any], bool]) -> None:
        self._result = result
        self._is_done = is_done

    def done(self) -> bool:
        return self._is_done(self._result)

    def cancel(self) -> bool:
        """Return False: such a call cannot be cancelled."""
        return False


def _serve_all(kind: type[Any], name: str) -> None:
    """Let what a method starts belong to the runner, not to the first user."""
    method = getattr(kind, name)

    @wraps(method)
    def method_for_all(*args: Any, **kwargs: Any) -> Any:
        return as_runner(method, *args, **kwargs)

    setattr(kind, name, method_for_all)


def _then(kind: type[Any], name: str, note: Callable[[Any], None]) -> None:
    """Note the object after each call of a method."""
    method = getattr(kind, name)

    @wraps(method)
    def method_noted(item: Any, *args: Any, **kwargs: Any) -> None:
        method(item, *args, **kwargs)
        note(item)

    setattr(kind, name, method_noted)


class _WhenImported(importlib.abc.MetaPathFinder):
    """Calls a function with a module right after its import."""

    def __init__(self, later: dict[str, Callable[[Any], None]]) -> None:
        self._later = later

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name not in self._later:
            return None
        change = self._later.pop(name)
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_change(module: ModuleType) -> None:
                execute(module)
                change(module)

            spec.loader.exec_module = execute_and_change  # type: ignore[method-assign]
        return spec
