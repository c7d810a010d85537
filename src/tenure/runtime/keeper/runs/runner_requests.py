"""Requests of running jobs, answered by their keeper."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from tenure.control.operation import Operation, aperform
from tenure.domain.job import JSON
from tenure.errors import InputRefused, NotFound, StoreUnavailable, TenureError
from tenure.runtime import job_requests
from tenure.runtime.keeper.background_tasks import BackgroundTasks
from tenure.runtime.keeper.database.access import DatabaseAccess
from tenure.runtime.keeper.database.backoff import Backoff
from tenure.runtime.keeper.database.exchange import Exchange
from tenure.runtime.keeper.database.lease import Lease
from tenure.runtime.keeper.database.reports import Reports
from tenure.runtime.keeper.runs.grant_requests import GrantRequests
from tenure.runtime.keeper.runs.run import Run
from tenure.runtime.keeper.runs.runner import Runner
from tenure.runtime.messages import RequestAnswer, RunnerRequest

T = TypeVar("T")

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
    grants: GrantRequests

    def __post_init__(self) -> None:
        self._handlers: dict[str, Callable[[Run, Any], Awaitable[Any]]] = {
            "flush": self._flush,
            "slot": self._slot,
            "grant": self.grants.grant,
            "reserve": self.grants.reserve,
            "transaction": self._transaction,
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
                return await self._answer_of(run, request.name, request.arguments)
            except StoreUnavailable as problem:
                tries += 1
                if run.has_ended or (self.lease.is_current and tries >= _TRIES):
                    raise
                await self.database.wait_out(problem, backoff)

    async def _answer_of(self, run: Run, name: str, arguments: Any) -> Any:
        if name in self._handlers:
            return await self._handlers[name](run, arguments)
        operation = job_requests.answer(self.worker, run.job, name, arguments)
        answer = await self._perform(run, operation)
        if name in job_requests.ENQUEUE:
            self.exchanges[run.tenant].promote_soon()
        return answer

    async def _flush(self, run: Run, _arguments: None) -> None:
        await self.reports[run.tenant].flushed(run)

    async def enqueue_cleanup(self, run: Run, task: str, args: Mapping[str, JSON]) -> None:
        """Enqueue a job that closes a resource which could not be closed."""
        backoff = Backoff()
        while True:
            try:
                await self._perform(run, job_requests.cleanup(run.job, task, args))
            except StoreUnavailable as problem:
                await self.database.wait_out(problem, backoff)
            else:
                return

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

    async def _perform(self, run: Run, operation: Operation[T]) -> T:
        return await aperform(operation, self.database.store(run.tenant).send)
