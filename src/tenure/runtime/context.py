"""The context of a running job, for its code."""

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

import msgspec

from tenure.domain.bounds import MAX_ARGS_BYTES
from tenure.domain.budget import checked_amounts
from tenure.domain.job import JSON
from tenure.domain.values import finite_number, name_text, shown, storable_text
from tenure.errors import InputRefused
from tenure.runtime.control_exceptions import Waits
from tenure.runtime.large_values import result_of
from tenure.runtime.runner.attempt import Attempt
from tenure.runtime.steps.context import StepContext
from tenure.runtime.steps.effects import Work, aperform, perform
from tenure.runtime.steps.scope import count_spending, current_step_name
from tenure.store.new_jobs import encode_bounded

if TYPE_CHECKING:
    from tenure.control.handle import Handle
    from tenure.control.task import Task
    from tenure.runtime.grants import LimitGrant, Reservation
    from tenure.runtime.resources.coordinator import CleanupCoordinator
    from tenure.runtime.slots import SlotHold, SlotHolds
    from tenure.runtime.transactions import JobTransaction

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

log = logging.getLogger("tenure.job")

_MAX_NAME = 200  # characters of the name of a pool or of a unit
_MAX_MESSAGE = 10_000  # characters of a message of progress; the rest is cut off
_MAX_DRAFT = MAX_ARGS_BYTES + (1 << 20)  # bytes of a new job: its arguments, options and tags


class Sent:
    """A message on its way to the keeper. Await it to wait until it has left this process."""

    def __init__(self, leave: Callable[[], Awaitable[Any]]) -> None:
        self._leave = leave

    def __await__(self) -> Generator[Any, None, None]:
        yield from self._leave().__await__()


class Context(StepContext):
    """Passed to a task function whose first parameter is annotated with ``Context``.

    It works the same in coroutines, processes and threads. Methods that wait for an answer exist
    twice: plain for functions, with a leading ``a`` for coroutines.
    """

    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt
        self._checkpoint: dict[str, JSON] = msgspec.json.decode(attempt.work.checkpoint or b"{}")
        self._resources: CleanupCoordinator | None = None
        self._holds: SlotHolds | None = None
        self.log = log

    @property
    def resources(self) -> "CleanupCoordinator":
        """Return the coordinator that closes resources when the attempt ends, however it ends."""
        if self._resources is None:
            from tenure.runtime.runner.wrap_up import coordinator

            self._resources = coordinator(self._attempt)
        return self._resources

    @property
    def job(self) -> "CurrentJob":
        """Return the running job: id, task, tenant, queue, key, owner, target, slots and so on."""
        return CurrentJob(self._attempt)

    @property
    def attempt(self) -> int:
        """Attempt number, starting at 1."""
        return self._attempt.work.attempt

    @property
    def is_last_attempt(self) -> bool:
        """True if no other attempt follows when this attempt fails."""
        return self._attempt.work.attempt >= self._attempt.work.max_attempts

    @property
    def opened_resources(self) -> "CleanupCoordinator | None":
        """Return the coordinator if it was used; do not create it."""
        return self._resources

    @property
    def cancelled(self) -> bool:
        """True if the job was asked to stop. Reads no database, so it never fails."""
        return self._attempt.acknowledge_stop()

    @property
    def stop_reason(self) -> str | None:
        """Return the reason of the stop; None if none was requested."""
        return self._attempt.orders.reason if self._attempt.orders else None

    def raise_if_cancelled(self) -> None:
        """Raise CancelledError if the job was asked to stop."""
        self._attempt.raise_if_asked()

    @contextmanager
    def shield(self) -> Iterator[None]:
        """Hold up a stop until the block ends, or the job is killed."""
        self._attempt.shield()
        try:
            yield
        finally:
            self._attempt.unshield()

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Report progress, for users who look at the job; the latest report counts."""
        progress: dict[str, JSON] = {"done": finite_number(done, "what is done")}
        if total is not None:
            progress["total"] = finite_number(total, "the total")
        if message is not None:
            if not isinstance(message, str):
                raise InputRefused(f"the message of progress must be a str, not {shown(message)}")
            progress["message"] = storable_text(message)[:_MAX_MESSAGE]
        self._attempt.report_progress(progress)

    @overload
    def track(self, items: Iterable[T], total: int | None = None) -> Iterator[T]: ...
    @overload
    def track(self, items: AsyncIterable[T], total: int | None = None) -> AsyncIterator[T]: ...
    def track(
        self, items: Iterable[T] | AsyncIterable[T], total: int | None = None
    ) -> Iterator[T] | AsyncIterator[T]:
        """Yield the items and report their count as progress; raise CancelledError on a stop."""
        try:
            if total is None and isinstance(items, Sized):
                total = len(items)
            items = items if isinstance(items, AsyncIterable) else iter(items)
        except Exception as error:
            raise InputRefused(
                f"track() needs an iterable, and {shown(items)} cannot be iterated: "
                f"{type(error).__name__}"
            ) from error
        if total is not None:
            finite_number(total, "the total")
        if isinstance(items, AsyncIterable):
            return self._track_async(items, total)
        return self._track(items, total)

    def _track(self, items: Iterable[T], total: int | None) -> Iterator[T]:
        for done, item in enumerate(items):
            self.raise_if_cancelled()
            yield item
            self.progress(done + 1, total)

    async def _track_async(self, items: AsyncIterable[T], total: int | None) -> AsyncIterator[T]:
        done = 0
        async for item in items:
            self.raise_if_cancelled()
            yield item
            done += 1
            self.progress(done, total)

    @property
    def checkpoint(self) -> Mapping[str, JSON]:
        """Return the values saved last, by this attempt or an earlier one; empty at first."""
        return self._checkpoint

    @property
    def resume_value(self) -> JSON:
        """Return the value that the job was resumed with; None if there is none.

        Every attempt gets it until one has saved a checkpoint, so keep there what is needed later.
        """
        value: JSON = msgspec.json.decode(self._attempt.work.resume_value or b"null")
        return value

    def save_checkpoint(self, **values: JSON) -> Sent:
        """Save values with which a resumed, retried or recovered job continues.

        Values saved before under other names stay.
        """
        checkpoint = {**self._checkpoint, **values}
        self._attempt.report(checkpoint=self._written(checkpoint, "the checkpoint"))
        self._checkpoint = checkpoint
        return Sent(self._attempt.link.drain)

    def emit(self, value: JSON) -> Sent:
        """Add a partial result; it is kept however the job ends."""
        self._attempt.report(
            partials=(self._written(value, "the partial result"),), step=current_step_name()
        )
        return Sent(self._attempt.link.drain)

    def spend(self, **amounts: float) -> None:
        """Count amounts against the budget of this job and of every job above it."""
        spent = checked_amounts(amounts, "spent")
        count_spending(spent)
        self._attempt.report(spent=spent)

    def flush(self) -> None:
        """Wait until all reports are in the database; over its budget, a job waits for its stop."""
        self._attempt.flush_progress()
        self._attempt.request("flush")

    async def aflush(self) -> None:
        """Async version of ``flush``."""
        self._attempt.flush_progress()
        await self._attempt.arequest("flush")

    def spawn(self, task: "Task[P, R]", *args: P.args, **kwargs: P.kwargs) -> "Handle[R]":
        """Enqueue a child job, which is stopped with this job.

        When this job is started again, the same call returns the same child.
        """
        return self._handle(task, self._attempt.request("spawn", self._child(task, args, kwargs)))

    async def aspawn(self, task: "Task[P, R]", *args: P.args, **kwargs: P.kwargs) -> "Handle[R]":
        """Async version of ``spawn``."""
        child = self._child(task, args, kwargs)
        return self._handle(task, await self._attempt.arequest("spawn", child))

    def wait_for(self, children: Sequence["Handle[R]"]) -> list[R]:
        """Return the results of children, in order, when all have ended.

        Until then the job frees its slot. It is then started again from its checkpoint, and its
        spawns return the existing children. A child that did not complete is an error.
        """
        ended = self._attempt.request("children", _ids(children))
        return perform(self._attempt, self._results(children, ended))

    async def await_for(self, children: Sequence["Handle[R]"]) -> list[R]:
        """Async version of ``wait_for``."""
        ended = await self._attempt.arequest("children", _ids(children))
        return await aperform(self._attempt, self._results(children, ended))

    def slot(self, pool: str) -> "SlotHold":
        """Hold a slot of a pool in a ``with`` or ``async with`` block; the target is its name."""
        from tenure.runtime.slots import SlotHold, SlotHolds

        pool = name_text(pool, "the name of a pool", _MAX_NAME)
        if self._holds is None:
            self._holds = SlotHolds(self._attempt.work.slots or ())
        return SlotHold(self._attempt, pool, self._holds)

    def limit(self, name: str, **amounts: float) -> "LimitGrant":
        """Hold a grant of a limit in a ``with`` or ``async with`` block, which waits for it.

        It counts one call, and these amounts of other units of the limit.
        """
        from tenure.runtime.grants import LimitGrant

        name = name_text(name, "the name of a limit", _MAX_NAME)
        return LimitGrant(self._attempt, name, checked_amounts(amounts, "granted"))

    def reserve(self, **amounts: float) -> "Reservation":
        """Reserve parts of the budget in a ``with`` or ``async with`` block.

        It waits while others have reserved what is left, and raises BudgetExceeded if these amounts
        do not fit into the budget of this job, or of a job above it, any more.
        """
        from tenure.runtime.grants import Reservation

        return Reservation(self._attempt, checked_amounts(amounts, "reserved"))

    def artifact(self, name: str, data: Any) -> Sent:
        """Keep a file with the job: bytes, a str, a Path, an open file, or JSON.

        In a coroutine a thread writes it, and the job waits for that thread before it ends.
        """
        from tenure.runtime.artifact_names import checked
        from tenure.runtime.artifacts import artifacts_of

        name, store = checked(name), artifacts_of(self._attempt)

        def keep() -> None:
            kept = store.put(name, data)
            self._attempt.report(artifacts=((kept.name, kept.url, kept.size),))

        waiting = self._attempt.link.in_background(keep)
        return Sent(self._attempt.link.drain if waiting is None else lambda: waiting)

    def temp_dir(self, *, sensitive: bool = False) -> Path:
        """Make a folder that is removed when the attempt ends, however it ends."""
        from tenure.runtime.temporary import temp_dir

        if not isinstance(sensitive, bool):
            raise InputRefused(f"sensitive must be True or False, not {shown(sensitive)}")
        base = self._attempt.link.folder / str(self._attempt.work.run)
        base.mkdir(mode=0o700, exist_ok=True)
        return temp_dir(base, sensitive=sensitive)

    def transaction(self) -> "JobTransaction":
        """Open a transaction that also completes the job: ``with`` or ``async with``.

        Your changes and the completion are committed together. The fence is checked immediately
        before the commit.
        """
        from tenure.runtime.transactions import JobTransaction

        return JobTransaction(self._attempt)

    def _written(self, value: Any, what: str) -> bytes:
        return encode_bounded(value, what, int(self._attempt.link.settings["max_result_bytes"]))

    def _child(
        self, task: "Task[P, R]", args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[str, bytes]:
        """Return the position of the child, in the order of the calls, and its draft."""
        if not callable(getattr(type(task), "child_draft", None)):
            raise InputRefused(f"spawn() needs a task made by @app.task, not {shown(task)}")
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
        return encode_bounded(draft, f"a job of {task.name}", _MAX_DRAFT)

    def _handle(self, task: "Task[P, R]", job: int) -> "Handle[R]":
        return task.handle(job, self._attempt.link.tenant)

    def _results(self, children: Sequence["Handle[R]"], ended: list[Any] | None) -> Work[list[R]]:
        if ended is None:
            raise Waits("children")
        for job in ended:
            job["result"] = yield from result_of(self._attempt, job)
        return [child.read(job) for child, job in zip(children, ended, strict=True)]


def _ids(children: Sequence["Handle[Any]"]) -> list[int]:
    """Return the ids of these handles."""
    try:
        ids = [child.id for child in children]
        if all(type(job) is int for job in ids):
            return ids
    except Exception:  # noqa: BLE001, S110 - the code of a job may pass anything
        pass
    raise InputRefused(
        f"children must be a list of handles that spawn() returned, not {shown(children)}"
    )


class CurrentJob:
    """The running job, as its code sees it."""

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
