"""Requests of running jobs to the database.

Jobs have no password: the keeper sends the calls, and only for what belongs to the job that asks.
"""

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import msgspec

from tenure.domain.job import JSON, ROLLBACK, NewJob
from tenure.domain.lifecycle import State
from tenure.errors import InputRefused, NotFound, StoreUnavailable, TenureError
from tenure.runtime.keeper.background_tasks import BackgroundTasks
from tenure.runtime.keeper.database.access import DatabaseAccess
from tenure.runtime.keeper.database.backoff import Backoff
from tenure.runtime.keeper.database.exchange import Exchange
from tenure.runtime.keeper.database.lease import Lease
from tenure.runtime.keeper.database.reports import Reports
from tenure.runtime.keeper.runs.run import Run
from tenure.runtime.keeper.runs.runner import Runner
from tenure.runtime.messages import RequestAnswer, RunnerRequest

_ENDED = {State.COMPLETED, State.FAILED, State.CANCELLED}
_SLOT_EVERY = 0.5  # seconds between two tries for a slot
_TRIES = 10  # while the lease is renewed, so that the database is there


@dataclass(eq=False)
class RunnerRequests:
    worker: UUID
    database: DatabaseAccess
    lease: Lease
    exchanges: Mapping[str, Exchange]
    reports: Mapping[str, Reports]
    tasks: BackgroundTasks

    def __post_init__(self) -> None:
        self._handlers: dict[str, Callable[[Run, Any], Awaitable[Any]]] = {
            "flush": self._flush,
            "spawn": self._spawn,
            "undo": self._undo,
            "children": self._children,
            "slot": self._slot,
            "transaction": self._transaction,
            "completed": self._completed,
        }

    def receive(self, runner: Runner, request: RunnerRequest) -> None:
        self.tasks.start(self._answer(runner, request))

    async def _answer(self, runner: Runner, request: RunnerRequest) -> None:
        """Send the answer, or what went wrong: the code that asked waits for one of them."""
        try:
            runner.send(RequestAnswer(request.number, await self._handle(runner, request)))
        except TenureError as error:
            runner.send(RequestAnswer(request.number, refusal=(type(error).__name__, str(error))))
        except Exception as error:  # noqa: BLE001 - the arguments come from the code of a job
            sentence = f"{request.name} cannot be answered: {error}"
            runner.send(RequestAnswer(request.number, refusal=(InputRefused.__name__, sentence)))

    async def _handle(self, runner: Runner, request: RunnerRequest) -> Any:
        """Return the answer, after an outage if there is one: every request may be repeated."""
        run = runner.runs.get(request.run)
        if run is None:
            raise InputRefused("the attempt that asks this has ended")
        backoff, tries = Backoff(), 0
        while True:
            try:
                return await self._handlers[request.name](run, request.arguments)
            except StoreUnavailable as problem:
                tries += 1
                if run.has_ended or (self.lease.is_current and tries >= _TRIES):
                    raise
                await self.database.wait_out(problem, backoff)

    async def _flush(self, run: Run, _arguments: None) -> None:
        await self.reports[run.tenant].flushed(run)

    async def _spawn(self, run: Run, arguments: tuple[str, bytes]) -> int:
        """Return a child job; a later attempt that asks at the same position gets the same one."""
        position, draft = arguments
        return await self._enqueue_child(run, draft, f"spawn:{run.job.id}:{position}")

    async def _undo(self, run: Run, arguments: tuple[int, bytes]) -> int:
        """Return the job that undoes another; the same one for every rollback that asks."""
        if run.job.task != ROLLBACK:
            raise InputRefused("only a rollback undoes other jobs")
        undone, draft = arguments
        return await self._enqueue_child(run, draft, f"undo:{int(undone)}")

    async def _enqueue_child(self, run: Run, draft: bytes, key: str) -> int:
        child = msgspec.convert(
            {**msgspec.json.decode(draft), "parent": run.job.id}, NewJob, strict=False
        )
        [enqueued] = await self.database.store(run.tenant).enqueue_reserved(
            child,
            idempotency=None if child.idempotency else key,
            by=f"job:{run.job.id}",
            via="worker",
        )
        self.exchanges[run.tenant].promote_soon()
        return enqueued.id

    async def enqueue_cleanup(self, run: Run, task: str, args: Mapping[str, JSON]) -> None:
        """Enqueue a job that closes a resource which could not be closed."""
        backoff = Backoff()
        job = NewJob(
            task=task,
            args=args,
            queue=run.job.queue,
            owner=run.job.owner,
            max_attempts=20,
        )
        about = hashlib.sha256(msgspec.json.encode(args, order="sorted")).hexdigest()
        key = f"cleanup:{run.job.id}:{run.job.token}:{task}:{about}"
        while True:
            try:
                await self.database.store(run.tenant).enqueue_reserved(
                    job, idempotency=key, by=f"job:{run.job.id}", via="worker"
                )
            except StoreUnavailable as problem:
                await self.database.wait_out(problem, backoff)
            else:
                return

    async def _children(self, run: Run, arguments: list[int]) -> list[Any] | None:
        """Return the children when all have ended; None until then."""
        store = self.database.store(run.tenant)
        jobs = [await store.show(job) for job in arguments]
        if any(job.state not in _ENDED for job in jobs):
            return None
        return [msgspec.to_builtins(job) for job in jobs]

    async def _slot(self, run: Run, pool: str) -> str | None:
        """Wait for a slot and return its name; None if the job ends first."""
        known = [found.name for found in await self.database.store(run.tenant).pools()]
        if pool not in known:
            raise NotFound(f"there is no pool {pool!r}; there are: {', '.join(known) or 'none'}")
        while not run.has_ended:
            if slot := await self.reports[run.tenant].take_slot(run, pool):
                return slot
            await run.ends_within(_SLOT_EVERY)
        return None

    async def _transaction(self, run: Run, _arguments: None) -> None:
        """Note that it may have a database session of its own, which ends with it."""
        run.has_session = True

    async def _completed(self, run: Run, _arguments: None) -> list[Any]:
        """Return what a rollback undoes; nobody else may read it, because it contains secrets."""
        worker, job = self.worker, run.job
        tasks = await self.database.store(run.tenant).completed(worker, job.id, job.token)
        return [msgspec.to_builtins(task) for task in tasks]
