"""What the code of a job sees of Tenure while it runs."""

import logging
from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Sized,
)
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from tenure.domain.bounds import LARGEST_AMOUNT, MAX_ARGS_BYTES
from tenure.domain.job import JSON
from tenure.domain.values import finite_number, name_text, shown, storable_text
from tenure.errors import InputRefused
from tenure.runtime.control_exceptions import WaitsForChildren
from tenure.runtime.runner.attempt import Attempt, read
from tenure.store.new_jobs import written

if TYPE_CHECKING:
    from tenure.control.handle import Handle
    from tenure.control.task import Task
    from tenure.runtime.resources import CleanupCoordinator
    from tenure.runtime.slots import SlotHold, SlotHolds
    from tenure.runtime.transactions import JobTransaction

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

log = logging.getLogger("tenure.job")

_MOST_NAME = 200  # characters of the name of a pool or of a unit
_MOST_MESSAGE = 10_000  # characters of a message of progress; the rest is cut off
_MOST_DRAFT = MAX_ARGS_BYTES + (1 << 20)  # bytes of a new job: its arguments, options and tags


class Sent:
    """Something on its way to the keeper. Awaiting it waits until it has left this process."""

    def __init__(self, leave: Callable[[], Awaitable[Any]]) -> None:
        self._leave = leave

    def __await__(self) -> Generator[Any, None, None]:
        yield from self._leave().__await__()


class Context:
    """Handed to a task function whose first parameter is annotated with it.

    It works alike in coroutines, processes and threads. What has an answer comes twice: plain for
    functions, with a leading ``a`` for coroutines.
    """

    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt
        self._checkpoint: dict[str, JSON] = dict(read(attempt.work.checkpoint or b"{}"))
        self._resources: CleanupCoordinator | None = None
        self._holds: SlotHolds | None = None
        self.log = log

    @property
    def resources(self) -> "CleanupCoordinator":
        """What is closed when the attempt ends, however it ends."""
        if self._resources is None:
            from tenure.runtime.runner.wrap_up import coordinator

            self._resources = coordinator(self._attempt)
        return self._resources

    # Who it is.

    @property
    def job(self) -> "CurrentJob":
        """The job that runs: id, task, tenant, queue, key, owner, target, slots and so on."""
        return CurrentJob(self._attempt)

    @property
    def attempt(self) -> int:
        """Which go at the job this is; the first is 1."""
        return self._attempt.work.attempt

    @property
    def is_last_attempt(self) -> bool:
        """Whether no other attempt follows if this one fails."""
        return self._attempt.work.attempt >= self._attempt.work.max_attempts

    @property
    def opened_resources(self) -> "CleanupCoordinator | None":
        return self._resources

    # Whether it is to stop.

    @property
    def cancelled(self) -> bool:
        """Whether somebody asked it to stop. Never asks the database, so it never fails."""
        return self._attempt.hear()

    @property
    def stop_reason(self) -> str | None:
        """Why it is to stop, as whoever asked for it said; none while nobody has."""
        return self._attempt.orders.reason if self._attempt.orders else None

    def raise_if_cancelled(self) -> None:
        """A point where a stop is heard: raises CancelledError if one was asked for."""
        self._attempt.raise_if_asked()

    @contextmanager
    def shield(self) -> Iterator[None]:
        """A stop waits for this block, up to the time at which the job is killed."""
        self._attempt.shield()
        try:
            yield
        finally:
            self._attempt.unshield()

    # What it says.

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """How far it is, for whoever looks at the job; the newest word counts."""
        told: dict[str, JSON] = {"done": finite_number(done, "what is done")}
        if total is not None:
            told["total"] = finite_number(total, "the total")
        if message is not None:
            if not isinstance(message, str):
                raise InputRefused(f"the message of progress is a str, not {shown(message)}")
            told["message"] = storable_text(message)[:_MOST_MESSAGE]
        self._attempt.say_progress(told)

    @overload
    def track(self, things: Iterable[T], total: int | None = None) -> Iterator[T]: ...
    @overload
    def track(self, things: AsyncIterable[T], total: int | None = None) -> AsyncIterator[T]: ...
    def track(
        self, things: Iterable[T] | AsyncIterable[T], total: int | None = None
    ) -> Iterator[T] | AsyncIterator[T]:
        """The same things, counted as progress; every step is a point where a stop is heard."""
        try:
            if total is None and isinstance(things, Sized):
                total = len(things)
            things = things if isinstance(things, AsyncIterable) else iter(things)
        except Exception as error:
            raise InputRefused(
                f"track() takes things to iterate over, and {shown(things)} cannot be iterated: "
                f"{type(error).__name__}"
            ) from error
        if total is not None:
            finite_number(total, "the total")
        if isinstance(things, AsyncIterable):
            return self._track_async(things, total)
        return self._track(things, total)

    def _track(self, things: Iterable[T], total: int | None) -> Iterator[T]:
        for done, thing in enumerate(things):
            self.raise_if_cancelled()
            yield thing
            self.progress(done + 1, total)

    async def _track_async(self, things: AsyncIterable[T], total: int | None) -> AsyncIterator[T]:
        done = 0
        async for thing in things:
            self.raise_if_cancelled()
            yield thing
            done += 1
            self.progress(done, total)

    @property
    def checkpoint(self) -> Mapping[str, JSON]:
        """What was saved last, by this attempt or an earlier one; empty at first."""
        return self._checkpoint

    def save_checkpoint(self, **values: JSON) -> Sent:
        """Where a resumed, retried or recovered job goes on: these values, beside those saved."""
        checkpoint = {**self._checkpoint, **values}
        self._attempt.say(checkpoint=self._written(checkpoint, "the checkpoint"))
        self._checkpoint = checkpoint
        return Sent(self._attempt.link.drain)

    def emit(self, value: JSON) -> Sent:
        """A partial result; it is kept however the job ends."""
        self._attempt.say(partials=(self._written(value, "the partial result"),))
        return Sent(self._attempt.link.drain)

    def spend(self, **amounts: float) -> None:
        """Count against the budget of this job and of every job above it."""
        spent = {}
        for unit, amount in amounts.items():
            name = name_text(unit, "a unit of a budget", _MOST_NAME)
            spent[name] = finite_number(amount, f"{name} cannot be spent: an amount")
            if not 0 <= spent[name] <= LARGEST_AMOUNT:
                raise InputRefused(
                    f"{shown(amount)} {name} cannot be spent; it takes a number from 0 to "
                    f"{LARGEST_AMOUNT:g}"
                )
        self._attempt.say(spent=spent)

    def flush(self) -> None:
        """Wait until all that was said is in the database; over its budget, a job waits to stop."""
        self._attempt.say_the_rest()
        self._ask("flush", None)

    async def aflush(self) -> None:
        self._attempt.say_the_rest()
        await self._aask("flush", None)

    # Others.

    def spawn(self, task: "Task[P, R]", *args: P.args, **kwargs: P.kwargs) -> "Handle[R]":
        """A child of this job: it is stopped with it. Started again, the job finds the same one."""
        return self._handle(task, self._ask("spawn", self._child(task, args, kwargs)))

    async def aspawn(self, task: "Task[P, R]", *args: P.args, **kwargs: P.kwargs) -> "Handle[R]":
        return self._handle(task, await self._aask("spawn", self._child(task, args, kwargs)))

    def wait_for(self, children: Sequence["Handle[R]"]) -> list[R]:
        """Their results, in order, once all have ended.

        Until then the job gives its slot back; it is then started again from its checkpoint, and
        its spawns find the children that are there. A child that did not complete is an error.
        """
        return self._results(children, self._ask("children", _ids(children)))

    async def await_for(self, children: Sequence["Handle[R]"]) -> list[R]:
        told = await self._aask("children", _ids(children))
        return self._results(children, told)

    def slot(self, pool: str) -> "SlotHold":
        """One of the pool's slots while the block lasts: ``with`` or ``async with``; its name."""
        from tenure.runtime.slots import SlotHold, SlotHolds

        pool = name_text(pool, "the name of a pool", _MOST_NAME)
        if self._holds is None:
            self._holds = SlotHolds(self._attempt.work.slots or ())
        return SlotHold(self._attempt, pool, self._holds)

    # What it leaves behind.

    def artifact(self, name: str, data: Any) -> Sent:
        """Keep a file with the job: bytes, a text, a path, an open file, or JSON.

        In a coroutine it is written in a thread, which the job waits for before it ends.
        """
        from tenure.runtime.artifact_names import checked
        from tenure.runtime.artifacts import artifacts_of

        name, store = checked(name), artifacts_of(self._attempt)

        def keep() -> None:
            kept = store.put(name, data)
            self._attempt.say(artifacts=((kept.name, kept.url, kept.size),))

        waiting = self._attempt.link.in_background(keep)
        return Sent(self._attempt.link.drain if waiting is None else lambda: waiting)

    def temp_dir(self, *, sensitive: bool = False) -> Path:
        """A folder that is gone when the attempt is, however it ends."""
        from tenure.runtime.temporary import temp_dir

        if not isinstance(sensitive, bool):
            raise InputRefused(f"sensitive is True or False, not {shown(sensitive)}")
        base = self._attempt.link.folder / str(self._attempt.work.run)
        base.mkdir(mode=0o700, exist_ok=True)
        return temp_dir(base, sensitive=sensitive)

    def transaction(self) -> "JobTransaction":
        """A transaction of yours that also completes the job: ``with`` or ``async with``.

        Both are committed, or neither is. The fence is checked immediately before the commit.
        """
        from tenure.runtime.transactions import JobTransaction

        return JobTransaction(self._attempt)

    # How it is done.

    def _written(self, value: Any, what: str) -> bytes:
        return written(value, what, int(self._attempt.link.settings["max_result_bytes"]))

    def _ask(self, about: str, told: Any) -> Any:
        return self._attempt.link.ask(self._attempt.work.run, about, told)

    async def _aask(self, about: str, told: Any) -> Any:
        return await self._attempt.link.aask(self._attempt.work.run, about, told)

    def _child(
        self, task: "Task[P, R]", args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[str, bytes]:
        """Return which child of this job it is, in the order of the calls, and the child."""
        if not callable(getattr(type(task), "child_draft", None)):
            raise InputRefused(f"a task is spawned, made by @app.task, not {shown(task)}")
        self._attempt.spawned += 1
        return f"{self._attempt.spawned}:{task.name}", self._draft(task, args, kwargs)

    def _draft(
        self,
        task: "Task[P, R]",
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        secret: Sequence[str] = (),
    ) -> bytes:
        draft = task.child_draft(self._attempt.work.id, args, kwargs, secret)
        return written(draft, f"a job of {task.name}", _MOST_DRAFT)

    def _handle(self, task: "Task[P, R]", job: int) -> "Handle[R]":
        return task.handle(job, self._attempt.link.tenant)

    def _results(self, children: Sequence["Handle[R]"], told: list[Any] | None) -> list[R]:
        if told is None:
            raise WaitsForChildren
        return [child.read(job) for child, job in zip(children, told, strict=True)]


def _ids(children: Sequence["Handle[Any]"]) -> list[int]:
    """The ids of these handles."""
    try:
        ids = [child.id for child in children]
        if all(type(job) is int for job in ids):
            return ids
    except Exception:  # noqa: BLE001, S110 - they may be anything
        pass
    raise InputRefused(
        f"children are given as a list of what spawn() gave back, not as {shown(children)}"
    )


class CurrentJob:
    """The job that runs, as far as its code needs to know."""

    def __init__(self, attempt: Attempt) -> None:
        work = attempt.work
        self.id = work.id
        self.task = work.task
        self.tenant = attempt.link.tenant
        self.queue = work.queue
        self.key = work.key
        self.owner = work.owner
        self.priority = work.priority
        self.target = work.target
        self.root_id = work.root_id
        self.parent_id = work.parent_id
        self.slots: Mapping[str, str] = work.slots or {}

    def __repr__(self) -> str:
        return f"<job {self.id} of {self.task}>"
