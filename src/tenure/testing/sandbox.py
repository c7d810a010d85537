"""A sandbox: a database of its own for a test, in which jobs run here and now."""

import asyncio
import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, ParamSpec, Self, TypeVar, Unpack

import psycopg

from tenure.app import Tenure
from tenure.control.client import Client, as_tenant
from tenure.control.job_operations import PAGE
from tenure.control.task import Task
from tenure.domain.generators import adrive, drive
from tenure.domain.job import Job
from tenure.domain.lifecycle import ENDED, Reason
from tenure.domain.tenant import DEFAULT, Tenant
from tenure.domain.values import amount, shown
from tenure.errors import InputRefused, TenureError
from tenure.runtime.messages import AttemptEnded
from tenure.store.results import Claimed
from tenure.testing.attempts import SandboxAttempt, is_coroutine, run_coroutine, run_plain
from tenure.testing.clock import Clock
from tenure.testing.databases import Databases
from tenure.testing.forked import run_forked
from tenure.testing.results import JobRun
from tenure.testing.triggers import At, Effect, Trigger, trigger
from tenure.testing.worker import Assignment, SandboxWorker

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

# Yields an attempt to run, and receives how it ended.
_Attempts = Generator[Assignment, AttemptEnded | None, T]

MAX_ATTEMPTS = 10_000  # of one drain


class Sandbox:
    """A throw-away database for a test, in which jobs run in the process of the test.

    While it is open, every app of this process uses its database, whatever its URL is. Jobs are
    claimed and finished by the same verbs as by a worker. Example:

        with Sandbox() as sandbox:
            assert sandbox.run(resize, "a.png").value == "small/a.png"

    Methods with a leading ``a`` are for tests that are coroutines.
    """

    def __init__(self, databases: Databases | None = None) -> None:
        self._databases = databases
        self._stack = ExitStack()
        self._restore: dict[Client, Callable[[], None]] = {}
        self._triggers: list[Trigger] = []

    def __enter__(self) -> Self:
        if isinstance(getattr(Client.before_use, "__self__", None), Sandbox):
            raise TenureError("another sandbox is open in this process; close it first")
        with ExitStack() as opened:
            databases = self._databases or opened.enter_context(Databases())
            self.url = opened.enter_context(databases.database())
            folder = opened.enter_context(tempfile.TemporaryDirectory(prefix="tenure-sandbox-"))
            connection = opened.enter_context(psycopg.connect(self.url, autocommit=True))
            self.clock = Clock(connection)
            self._worker = SandboxWorker(self.url, folder, self.clock, self._triggers)
            opened.callback(self._worker.close)
            opened.callback(setattr, Client, "before_use", Client.before_use)
            Client.before_use = self.attach
            opened.callback(self._detach)
            self._stack = opened.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._stack.close()
        missed = [trigger for trigger in self._triggers if not trigger.is_done]
        self._triggers.clear()
        if missed and kind is None:
            raise AssertionError(
                "; ".join(
                    f"{it}: no attempt got that far; the highest was {it.highest}" for it in missed
                )
            )

    def attach(self, app: Client) -> None:
        """Give an app this database; every app that is used is attached by itself."""
        if app not in self._restore:
            self._restore[app] = app.redirect(self.url, self._kept)

    def run(self, task: Task[P, R], *args: P.args, **kwargs: P.kwargs) -> JobRun[R]:
        """Enqueue a job and run one attempt of it; with it the children that it waits for.

        ``using`` gives it options: ``sandbox.run(crawl.using(priority=5), "example.org")``.
        """
        return drive(self._run(task, args, kwargs), self._ended)

    async def arun(self, task: Task[P, R], *args: P.args, **kwargs: P.kwargs) -> JobRun[R]:
        """Async version of ``run``."""
        return await adrive(self._run(task, args, kwargs), self._aended)

    def run_again(self, run: JobRun[R]) -> JobRun[R]:
        """Run the next attempt of a job; the clock is advanced to its time."""
        return drive(self._run_next(run), self._ended)

    async def arun_again(self, run: JobRun[R]) -> JobRun[R]:
        """Async version of ``run_again``."""
        return await adrive(self._run_next(run), self._aended)

    def drain(self, *, tenant: Tenant | str = DEFAULT) -> list[JobRun[Any]]:
        """Run every job that can run, with its children and retries, until none is left.

        The clock is advanced to the time of each retry. Jobs that are scheduled for later stay:
        advance the clock to run them. Return the jobs in the order in which they began.
        """
        return drive(self._drain(as_tenant(tenant), lambda _: True), self._ended)

    async def adrain(self, *, tenant: Tenant | str = DEFAULT) -> list[JobRun[Any]]:
        """Async version of ``drain``."""
        return await adrive(self._drain(as_tenant(tenant), lambda _: True), self._aended)

    def cancel_at(
        self, task: Task[..., Any] | None = None, reason: str | None = None, **at: Unpack[At]
    ) -> None:
        """Cancel the next job that comes to an event: ``cancel_at(emit=3)``."""
        self._plan("cancel", task, reason, at)

    def pause_at(
        self, task: Task[..., Any] | None = None, reason: str | None = None, **at: Unpack[At]
    ) -> None:
        """Pause the next job that comes to an event: ``pause_at(checkpoint=1)``."""
        self._plan("pause", task, reason, at)

    def kill_at(self, task: Task[..., Any] | None = None, **at: Unpack[At]) -> None:
        """Kill the process of the next job that comes to an event: ``kill_at(checkpoint=1)``.

        The attempt runs in a forked process, which ends by SIGKILL: nothing of it is cleaned up,
        and what it changed in memory is gone.
        """
        self._plan("kill", task, None, at)

    def enqueued(
        self, task: Task[P, R] | None = None, *, tenant: Tenant | str = DEFAULT
    ) -> list[Job]:
        """Return the jobs of a task, or all, oldest first; also those that have ended."""
        store = self._worker.store.of(as_tenant(tenant))
        wanted = {} if task is None else {"task": task.name}
        ids: list[int] = []
        while page := store.list_jobs(wanted, below=ids[-1] if ids else None, n=PAGE):
            ids += [job.id for job in page]
        return [store.show(job) for job in reversed(ids)]

    def assert_enqueued(
        self,
        task: Task[..., Any],
        *,
        args: Mapping[str, Any] | Sequence[Any] | None = None,
        count: int | None = None,
        tenant: Tenant | str = DEFAULT,
    ) -> list[Job]:
        """Return the jobs of a task that were enqueued, or fail if there are none.

        ``args`` counts only those that were called so: ``("a",)`` or ``{"site": "a"}``. ``count``
        is how many there must be; 0 is possible.
        """
        jobs = self.enqueued(task, tenant=tenant)
        found = jobs
        wanted = ""
        if args is not None:
            given = ((), args) if isinstance(args, Mapping) else (args, {})
            written = task.new_job(*given[0], **given[1]).args
            found = [job for job in jobs if job.args == written]
            wanted = f" with {written}"
        is_right = bool(found) if count is None else len(found) == count
        if not is_right:
            number = "a job" if count is None else amount(count, "job")
            seen = ", ".join(str(job.args) for job in jobs) or "none"
            raise AssertionError(
                f"{number} of {task.name}{wanted} should be enqueued, and there are {len(found)}; "
                f"all jobs of {task.name}: {seen}"
            )
        return found

    def _plan(
        self, effect: Effect, task: Task[..., Any] | None, reason: str | None, at: At
    ) -> None:
        self._triggers.append(trigger(effect, task, reason, **at))

    def _detach(self) -> None:
        while self._restore:
            _, restore = self._restore.popitem()
            restore()

    @property
    def _apps(self) -> list[Tenure]:
        return [app for app in self._restore if isinstance(app, Tenure)]

    # Attempts, one at a time: they are yielded to a driver that runs them.

    def _run(
        self, task: Task[..., R], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> _Attempts[JobRun[R]]:
        if not isinstance(task, Task):
            raise InputRefused(f"run() takes a task made by @app.task, not {shown(task)}")
        self.attach(task.client)
        return (yield from self._run_job(task, task.enqueue(*args, **kwargs).id))

    def _run_next(self, run: JobRun[R]) -> _Attempts[JobRun[R]]:
        job = run.job
        if job.state in ENDED:
            raise InputRefused(f"job {job.id} has ended; it is {job.status}")
        if job.waiting is Reason.TIME and job.run_at is not None:
            self.clock.advance_to(job.run_at)
        handle = run.handle
        return (yield from self._run_until_settled(handle.id, as_tenant(handle.tenant), run))

    def _run_job(self, task: Task[..., R], job: int) -> _Attempts[JobRun[R]]:
        tenant = task.options.tenant
        run = JobRun(task.handle(job, tenant), self._worker.store.of(tenant), self._kept)
        return (yield from self._run_until_settled(job, tenant, run))

    def _run_until_settled(self, job: int, tenant: Tenant, run: JobRun[R]) -> _Attempts[JobRun[R]]:
        """Run an attempt of a job, and again as long as it waits for its children."""
        while True:
            assigned = self._worker.claim(self._apps, tenant, lambda found: found.id == job)
            if assigned is None:
                raise TenureError(f"job {job} cannot run now: {_why(run)}")
            ended = yield assigned
            self._worker.conclude(assigned, ended)
            run.error = assigned.attempt.error
            if ended is None or ended.how != "waits" or ended.until != "children":
                return run
            yield from self._drain(tenant, _is_below(job, assigned.run.job.root_id))

    def _drain(
        self, tenant: Tenant, wanted: Callable[[Claimed], bool]
    ) -> _Attempts[list[JobRun[Any]]]:
        runs: dict[int, JobRun[Any]] = {}
        for _ in range(MAX_ATTEMPTS):
            assigned = self._worker.claim(self._apps, tenant, wanted)
            if assigned is None:
                retry = self._worker.next_retry(tenant)
                if retry is None or retry.run_at is None or retry.run_at <= self.clock.now():
                    return list(runs.values())
                self.clock.advance_to(retry.run_at)
                continue
            ended = yield assigned
            self._worker.conclude(assigned, ended)
            job = assigned.run.job
            if job.id not in runs:
                app = assigned.attempt.link.app
                store = self._worker.store.of(tenant)
                runs[job.id] = JobRun(app.tasks[job.task].handle(job.id, tenant), store, self._kept)
            runs[job.id].error = assigned.attempt.error
        raise TenureError(f"after {MAX_ATTEMPTS:,} attempts there is still more to run")

    @property
    def _kept(self) -> str:
        return self._worker.artifacts

    def _ended(self, assigned: Assignment) -> AttemptEnded | None:
        attempt = assigned.attempt
        if self._is_killed(assigned):
            return run_forked(attempt)
        if not is_coroutine(attempt.link.app.tasks.get(attempt.work.task)):
            return run_plain(attempt)
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return _app_of(attempt)._run_coroutine(run_coroutine, attempt)
        raise InputRefused("this test is a coroutine: await arun() or adrain() of the sandbox")

    async def _aended(self, assigned: Assignment) -> AttemptEnded | None:
        attempt = assigned.attempt
        if self._is_killed(assigned):
            return await asyncio.to_thread(run_forked, attempt)
        if is_coroutine(attempt.link.app.tasks.get(attempt.work.task)):
            return await run_coroutine(attempt)
        return await _app_of(attempt)._run_in_thread(run_plain, attempt)

    def _is_killed(self, assigned: Assignment) -> bool:
        task = assigned.run.job.task
        return any(it.effect == "kill" and it.applies_to(task) for it in self._triggers)


def _app_of(attempt: SandboxAttempt) -> Tenure:
    app = attempt.link.app
    assert isinstance(app, Tenure)
    return app


def _is_below(job: int, root: int) -> Callable[[Claimed], bool]:
    """Return a test for the other jobs of a tree."""
    return lambda found: found.root_id == root and found.id != job


def _why(run: JobRun[Any]) -> str:
    """Return why a job does not run."""
    job = run.job
    return f"it is {job.status}" + (f", waiting for {job.waiting}" if job.waiting else "")
