"""A worker without processes of its own: it claims jobs, and records how their attempts ended."""

import os
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from itertools import count
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from tenure.app import Tenure
from tenure.control.operation import perform
from tenure.domain.job import ROLLBACK, Job
from tenure.domain.lifecycle import Reason, State
from tenure.domain.tenant import Tenant
from tenure.errors import InputRefused
from tenure.runtime import job_requests
from tenure.runtime.executors.rollback import add_rollback
from tenure.runtime.keeper.keeper import runner_settings
from tenure.runtime.keeper.runs import endings
from tenure.runtime.keeper.runs.run import Run, RunLimits
from tenure.runtime.messages import AttemptEnded, Begin
from tenure.store.outcomes import Ending
from tenure.store.results import Claimed
from tenure.store.store import Store
from tenure.testing.attempts import SandboxAttempt, SandboxLink
from tenure.testing.clock import Clock
from tenure.testing.keepers import LocalKeeper
from tenure.testing.triggers import Trigger

_LEASE = timedelta(days=1)
_BATCH = 500


class Assignment(NamedTuple):
    """A claimed job, and its attempt in this process."""

    run: Run
    attempt: SandboxAttempt


class SandboxWorker:
    def __init__(self, url: str, folder: str, clock: Clock, triggers: Sequence[Trigger]) -> None:
        self.store = Store(url)
        self._url, self._folder, self._clock, self._triggers = url, folder, clock, triggers
        self._numbers = count(1)
        self._id: UUID | None = None
        self._announced: frozenset[str] = frozenset()

    def close(self) -> None:
        self.store.close()

    def claim(
        self, apps: Iterable[Tenure], tenant: Tenant, wanted: Callable[[Claimed], bool]
    ) -> Assignment | None:
        """Promote what is due, and claim the first job that is wanted; give back all others."""
        tasks = _tasks_of(apps)
        worker = self._present(tasks)
        store = self.store.of(tenant)
        while store.promote().more:
            pass
        chosen: Claimed | None = None
        others: list[Claimed] = []
        while chosen is None and (found := store.claim(worker, _BATCH, tasks=list(tasks)).jobs):
            chosen = next(filter(wanted, found), None)
            others += [job for job in found if job is not chosen]
        for start in range(0, len(others), _BATCH):
            back = others[start : start + _BATCH]
            store.finish(worker, [_untouched(job) for job in back])
        return None if chosen is None else self._assign(tasks[chosen.task], tenant, chosen)

    def conclude(self, assignment: Assignment, ended: AttemptEnded | None) -> None:
        """Record how an attempt ended; None: its process was killed."""
        run = assignment.run
        store = self.store.of(Tenant(run.tenant))
        if ended is None:
            error = {
                "type": "tenure.Crashed",
                "message": "the process that ran it died: the test killed it",
            }
            crash = Ending(job=run.job.id, token=run.job.token, error=error)
            store.crash(self._worker, [crash])
        else:
            for task, args in ended.again:
                perform(job_requests.cleanup(run.job, task, args), store.send)
            now = self._clock.now()
            make = partial(endings.ended, run, ended, now, "release")
            if (ending := endings.recordable(run, make)) is not None:
                store.finish(self._worker, [ending])
        while store.promote().more:
            pass

    def next_retry(self, tenant: Tenant) -> Job | None:
        """Return the job that is tried again first, of those that have begun before."""
        store = self.store.of(tenant)
        waiting: list[Job] = []
        below: int | None = None
        while page := store.list_jobs({"state": State.PENDING}, below=below, n=1000):
            waiting += [job for job in page if job.started_at and job.waiting is Reason.TIME]
            below = page[-1].id
        return min(waiting, key=_time_of, default=None)

    @property
    def _worker(self) -> UUID:
        assert self._id is not None
        return self._id

    def _present(self, tasks: Mapping[str, Tenure]) -> UUID:
        """Register, or renew the lease, which ends when the clock is advanced."""
        if self._id is None or not self.store.renew(self._id).alive:
            self._id = uuid4()
            self.store.register(self._id, socket.gethostname(), os.getpid(), _LEASE)
            self._announced = frozenset()
        if not self._announced.issuperset(tasks):
            apps = {id(app): app for app in tasks.values()}
            announced: list[Any] = []
            for app in apps.values():
                announced += app.announcement()["tasks"]
            self.store.announce(self._id, announced)
            self._announced = frozenset(tasks)
        return self._id

    def _assign(self, app: Tenure, tenant: Tenant, job: Claimed) -> Assignment:
        limits = RunLimits(job.options or {}, app.settings)
        run = Run(next(self._numbers), tenant.name, job, limits)
        settings = runner_settings(app.settings, self._url)
        kind = app.tasks[job.task].executor
        role = Begin(
            "process" if kind == "command" else kind,
            tenant.name,
            str(self._worker),
            settings,
            self._folder,
        )
        keeper = LocalKeeper(self._worker, self.store.of(tenant), run, self._triggers)
        return Assignment(run, SandboxAttempt(run.work, SandboxLink(app, role, keeper)))

    @property
    def artifacts(self) -> str:
        """Return where artifacts are kept."""
        return f"{self._folder}/artifacts"


def _tasks_of(apps: Iterable[Tenure]) -> dict[str, Tenure]:
    """Return the app of each task."""
    found: dict[str, Tenure] = {}
    for app in apps:
        if ROLLBACK not in app.tasks:
            add_rollback(app)
        for name in app.tasks:
            if name != ROLLBACK and found.setdefault(name, app) is not app:
                raise InputRefused(
                    f"two apps of this test have a task {name!r}; use a sandbox for each of them"
                )
            found[name] = app
    return found


def _untouched(job: Claimed) -> Ending:
    return Ending(job=job.id, token=job.token, outcome="released", unstarted=True)


def _time_of(job: Job) -> Any:
    return job.run_at
