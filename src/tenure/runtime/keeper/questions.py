"""What the code of jobs asks of the database, answered on its caller.

Jobs have no password: the keeper asks, and only for what belongs to the job that asks.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from tenure.domain.job import JSON, ROLLBACK, NewJob
from tenure.domain.lifecycle import State
from tenure.errors import InputRefused, NotFound, StoreUnavailable, TenureError
from tenure.runtime.guard.guard_state import boottime
from tenure.runtime.keeper.backoff import Backoff
from tenure.runtime.keeper.run import Run
from tenure.runtime.keeper.runners import Runner
from tenure.runtime.messages import RequestAnswer, RunnerRequest

if TYPE_CHECKING:
    from tenure.runtime.keeper.keeper import Keeper

_ENDED = {State.COMPLETED, State.FAILED, State.CANCELLED}
_SLOT_EVERY = 0.5  # seconds between two tries for a slot
_TRIES = 10  # while the database is there for others


class Questions:
    def __init__(self, keeper: "Keeper") -> None:
        self._keeper = keeper
        self.tasks: set[asyncio.Task[None]] = set()
        self._about: dict[str, Callable[[Run, Any], Awaitable[Any]]] = {
            "flush": self._flush,
            "spawn": self._spawn,
            "undo": self._undo,
            "children": self._children,
            "slot": self._slot,
            "transaction": self._transaction,
            "completed": self._completed,
        }

    def hear(self, runner: Runner, question: RunnerRequest) -> None:
        task = asyncio.create_task(self._answer(runner, question))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _answer(self, runner: Runner, question: RunnerRequest) -> None:
        """Whatever goes wrong is an answer too: the code that asked waits for one."""
        try:
            runner.send(RequestAnswer(question.number, await self._asked(runner, question)))
        except TenureError as error:
            runner.send(RequestAnswer(question.number, refusal=(type(error).__name__, str(error))))
        except Exception as error:  # noqa: BLE001 - what it was told comes from the code of a job
            sentence = f"{question.name} cannot be answered: {error}"
            runner.send(RequestAnswer(question.number, refusal=(InputRefused.__name__, sentence)))

    async def _asked(self, runner: Runner, question: RunnerRequest) -> Any:
        """The answer, if it takes until the database is back: each may be asked again."""
        run = runner.runs.get(question.run)
        if run is None:
            raise InputRefused("the attempt that asks this has ended")
        backoff, tries = Backoff(), 0
        while True:
            try:
                return await self._about[question.name](run, question.arguments)
            except StoreUnavailable as problem:
                tries += 1
                trusted = boottime() < self._keeper.lease.trusted_until
                if run.has_ended or (trusted and tries >= _TRIES):
                    raise
                await self._keeper.database_is_away(problem, backoff)

    async def _flush(self, run: Run, _told: None) -> None:
        await self._keeper.reports[run.tenant].flushed(run)

    async def _spawn(self, run: Run, told: tuple[str, bytes]) -> int:
        """A child; asked for in the same place by a later attempt, it is the same one."""
        turn, draft = told
        return await self._enqueue_child(run, draft, f"spawn:{run.job.id}:{turn}")

    async def _undo(self, run: Run, told: tuple[int, bytes]) -> int:
        """Return what undoes a job, once, whichever rollback asks."""
        if run.job.task != ROLLBACK:
            raise InputRefused("only a rollback undoes other jobs")
        undone, draft = told
        return await self._enqueue_child(run, draft, f"undo:{int(undone)}")

    async def _enqueue_child(self, run: Run, draft: bytes, key: str) -> int:
        child = msgspec.convert(
            {**msgspec.json.decode(draft), "parent": run.job.id}, NewJob, strict=False
        )
        [enqueued] = await self._keeper.store(run.tenant).enqueue_reserved(
            child,
            idempotency=None if child.idempotency else key,
            by=f"job:{run.job.id}",
            via="worker",
        )
        self._keeper.exchanges[run.tenant].promote_soon()
        return enqueued.id

    async def clean_up(self, run: Run, task: str, args: Mapping[str, JSON]) -> None:
        """A resource that could not be closed: a job of this task goes on trying."""
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
                await self._keeper.store(run.tenant).enqueue_reserved(
                    job, idempotency=key, by=f"job:{run.job.id}", via="worker"
                )
            except StoreUnavailable as problem:
                await self._keeper.database_is_away(problem, backoff)
            else:
                return

    async def _children(self, run: Run, told: list[int]) -> list[Any] | None:
        """The children when all have ended; nothing while one has not."""
        store = self._keeper.store(run.tenant)
        jobs = [await store.show(job) for job in told]
        if any(job.state not in _ENDED for job in jobs):
            return None
        return [msgspec.to_builtins(job) for job in jobs]

    async def _slot(self, run: Run, pool: str) -> str | None:
        """Wait for a slot; nothing when the job ends first."""
        known = [found.name for found in await self._keeper.store(run.tenant).pools()]
        if pool not in known:
            raise NotFound(f"there is no pool {pool!r}; there are: {', '.join(known) or 'none'}")
        while not run.has_ended:
            if slot := await self._keeper.reports[run.tenant].take_slot(run, pool):
                return slot
            await run.ends_within(_SLOT_EVERY)
        return None

    async def _transaction(self, run: Run, _told: None) -> None:
        """From now on it may have a session of its own, which ends with it."""
        run.has_session = True

    async def _completed(self, run: Run, _told: None) -> list[Any]:
        """What a rollback undoes; the database tells it to nobody else, for it tells secrets."""
        worker, job = self._keeper.id, run.job
        tasks = await self._keeper.store(run.tenant).completed(worker, job.id, job.token)
        return [msgspec.to_builtins(task) for task in tasks]
