"""Pools of threads and processes: a pool belongs to the runner, a call to the attempt that made it.

The functions of the standard library that start pools and pass calls to them are wrapped here;
those of modules that are imported later, when they are imported.
"""

import contextvars
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import wraps
from types import ModuleType
from typing import Any

from tenure.runtime.guard.page import boottime
from tenure.runtime.runner.attempt import Attempt, PoolCall
from tenure.runtime.runner.owners import as_runner, owner


class Pools:
    """All calls in pools that this process makes.

    `note_process` is called with the pid of a process that a fork server made for the caller.
    """

    def __init__(self, note_process: Callable[[int], None]) -> None:
        self._note_process = note_process
        self._unknown: dict[PoolCall, float] = {}  # calls without a known owner, by time

    def watch(self) -> None:
        """From now on, attribute every call in a pool to its attempt, and pools to the runner."""
        self._watch_threads()
        later: dict[str, Callable[[Any], None]] = {
            "concurrent.futures.process": self._watch_processes,
            "multiprocessing.pool": self._watch_multiprocessing,
            "multiprocessing.resource_tracker": lambda module: _serve_all(module.ResourceTracker),
            "multiprocessing.forkserver": lambda module: _serve_all(module.ForkServer),
            "multiprocessing.popen_forkserver": self._watch_fork_server,
        }
        for name in [name for name in later if name in sys.modules]:
            later.pop(name)(sys.modules[name])
        sys.meta_path.insert(0, _WhenImported(later))

    def unknown(self) -> list[float]:
        """Return the times of calls without a known owner that are not over."""
        self._unknown = {call: at for call, at in self._unknown.items() if not call.done()}
        return list(self._unknown.values())

    def _note(self, call: PoolCall) -> None:
        match owner():
            case Attempt() as attempt:
                attempt.note_call(call)
            case None:
                self._unknown[call] = boottime()

    def _watch_threads(self) -> None:
        submit: Callable[..., Future[Any]] = ThreadPoolExecutor.submit

        @wraps(submit)
        def submit_noted(
            pool: ThreadPoolExecutor, work: Callable[..., Any], /, *args: Any, **kwargs: Any
        ) -> Future[Any]:
            self._note_initializer(pool)
            match owner():
                case Attempt() as attempt:
                    call = as_runner(submit, pool, attempt.call_in_thread, work, *args, **kwargs)
                case None:
                    nobody = contextvars.Context()
                    call = as_runner(submit, pool, nobody.run, work, *args, **kwargs)
                case _:
                    return as_runner(submit, pool, work, *args, **kwargs)
            self._note(call)
            return call

        ThreadPoolExecutor.submit = submit_noted  # type: ignore[assignment, method-assign]

    def _note_initializer(self, pool: Any) -> None:
        """Attribute the initializer of a thread to the attempt whose call starts the thread."""
        initializer, attempt = getattr(pool, "_initializer", None), owner()
        if initializer is None or not isinstance(attempt, Attempt):
            return
        if isinstance(initializer, _Initializer):
            initializer = initializer.function
        pool._initializer = _Initializer(attempt, initializer)

    def _watch_processes(self, module: Any) -> None:
        submit = module.ProcessPoolExecutor.submit

        @wraps(submit)
        def submit_noted(pool: Any, work: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
            call = as_runner(submit, pool, work, *args, **kwargs)
            self._note(call)
            return call

        module.ProcessPoolExecutor.submit = submit_noted

    def _watch_multiprocessing(self, module: Any) -> None:
        """Watch Pool and ThreadPool of multiprocessing, which start all they need when made."""
        make = module.Pool.__init__

        @wraps(make)
        def make_for_all(pool: Any, *args: Any, **kwargs: Any) -> None:
            as_runner(make, pool, *args, **kwargs)

        module.Pool.__init__ = make_for_all
        self._watch_results(module.ApplyResult, lambda result: result.ready())
        self._watch_results(module.IMapIterator, lambda result: result._index == result._length)

    def _watch_results(self, kind: type[Any], is_over: Callable[[Any], bool]) -> None:
        make = kind.__init__

        @wraps(make)
        def make_noted(result: Any, *args: Any, **kwargs: Any) -> None:
            make(result, *args, **kwargs)
            self._note(_Result(result, is_over))

        kind.__init__ = make_noted

    def _watch_fork_server(self, module: Any) -> None:
        launch = module.Popen._launch

        @wraps(launch)
        def launch_noted(popen: Any, process: Any) -> None:
            launch(popen, process)
            self._note_process(popen.pid)

        module.Popen._launch = launch_noted


class _Initializer:
    """The initializer of a pool's thread, which counts as a call of the attempt."""

    def __init__(self, attempt: Attempt, function: Callable[..., Any]) -> None:
        self.function = function
        self._attempt = attempt

    def __call__(self, *args: Any) -> None:
        call: Future[None] = Future()
        self._attempt.note_call(call)
        try:
            self._attempt.call_in_thread(self.function, *args)
        finally:
            call.set_result(None)


class _Result:
    """A call in a pool of multiprocessing, by its result."""

    def __init__(self, result: Any, is_over: Callable[[Any], bool]) -> None:
        self._result = result
        self._is_over = is_over

    def done(self) -> bool:
        return self._is_over(self._result)

    def cancel(self) -> bool:
        """It cannot be taken back."""
        return False


def _serve_all(kind: type[Any]) -> None:
    """Let a helper process of multiprocessing belong to the runner, whoever needs it first."""
    ensure_running = kind.ensure_running

    @wraps(ensure_running)
    def ensure_running_for_all(helper: Any) -> Any:
        return as_runner(ensure_running, helper)

    kind.ensure_running = ensure_running_for_all


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
