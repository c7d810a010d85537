"""A task function, and how its jobs are enqueued."""

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any, Generic, ParamSpec, Self, TypeVar, Unpack, cast

import msgspec

from tenure.control.announcement import announcement
from tenure.control.client import as_tenant
from tenure.control.declaration import hooked
from tenure.control.enqueue_options import EnqueueOptions, EnqueueOptionSet
from tenure.control.handle import Handle
from tenure.control.job_drafts import (
    Draftable,
    drafted,
    drafted_many,
    encoded,
    hiding,
    shared_fields,
    written_many,
)
from tenure.control.operation import Operation, performed, twin
from tenure.domain.job import JSON, EncodedJob, NewJob
from tenure.domain.options import Executor
from tenure.domain.tenant import Tenant
from tenure.domain.values import refusals_about
from tenure.errors import InputRefused
from tenure.observe import tracing
from tenure.store.calls import enqueue_calls
from tenure.store.results import Enqueued

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
Hook = TypeVar("Hook", bound=Callable[..., Any])


@dataclass(eq=False, repr=False)
class Task(Draftable, Generic[P, R]):
    """A task function, as ``@app.task`` declares it.

    ``enqueue`` makes a job of it. Called like a function it is the plain function, here and now,
    context included: that is for tests, and so is ``task.function``.
    """

    _: KW_ONLY
    function: Callable[..., Any]
    executor: Executor
    compensate: "Task[..., Any] | None" = None
    hooks: dict[str, Callable[..., Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.__name__ = getattr(self.function, "__name__", self.name)
        self.__doc__ = self.function.__doc__
        self.__wrapped__ = self.function

    @property
    def takes_context(self) -> bool:
        """Tell whether the worker passes a ``Context``."""
        return self.signature.takes_context

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    # Enqueueing.

    def using(self, **options: Unpack[EnqueueOptions]) -> Self:
        """Return the task with other options: a queue, a time, a parent, your transaction."""
        bound = copy.copy(self)
        vars(bound).pop("_blank", None)
        with refusals_about(f"task {self.name!r}"):
            bound.options = self.options.changed(options)
            retry = bound.options.retry
            if "retry" in options and retry is not None and callable(retry.function):
                raise InputRefused(
                    "retry: a function is declared by the task; a job takes a Retry or a number"
                )
        return bound

    @performed
    def enqueue(self, /, *args: P.args, **kwargs: P.kwargs) -> Operation[Handle[R]]:
        """Make a job of it, in the caller's transaction if ``using(connection=...)`` gave one."""
        [handle] = yield from self._enqueued([encoded(self, self._blank, args, kwargs)])
        return handle

    aenqueue = twin(enqueue)

    @performed
    def enqueue_many(
        self, arguments: Sequence[Mapping[str, Any] | Sequence[Any]]
    ) -> Operation[list[Handle[R]]]:
        """Enqueue a job for each of these: ``{"site": "a"}`` by name, or ``("a",)`` by position."""
        return self._enqueued_many(arguments)

    aenqueue_many = twin(enqueue_many)

    def new_job(self, *args: P.args, **kwargs: P.kwargs) -> NewJob:
        """Return the job as it would be enqueued; keys of other jobs are not looked up."""
        return drafted(self, args, kwargs)

    def child_draft(
        self,
        parent: int,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        secret: Iterable[str] = (),
    ) -> dict[str, JSON]:
        """Return a child of a job as JSON; its arguments called ``secret`` are hidden as well."""
        if self.options.connection is not None or self.options.parent is not None:
            raise InputRefused("a job that is spawned takes neither a connection nor a parent")
        job = hiding(drafted(self, args, kwargs), secret)
        with tracing.enqueueing([job], self.options.tenant.name) as span:
            options = span.carried(job.options)
        draft = msgspec.structs.replace(job, parent=parent, options=options)
        return cast("dict[str, JSON]", msgspec.to_builtins(draft))

    def handle(self, job: int, tenant: Tenant | str) -> Handle[R]:
        """Return a job of this task."""
        return Handle(self.client, job, as_tenant(tenant))

    # For the worker.

    def read_arguments(self, args: Mapping[str, JSON] | bytes) -> dict[str, Any]:
        """Return the arguments from JSON, as the function takes them."""
        with refusals_about(
            f"the arguments of this job do not fit task {self.name!r} as it is now"
        ):
            return self.signature.read_arguments(args)

    def write_result(self, value: Any) -> JSON:
        """Return what the function returned as JSON."""
        with refusals_about(f"what task {self.name!r} returned cannot be kept"):
            return self.signature.write_result(value)

    def read_result(self, value: JSON) -> R:
        """Return a result from JSON, as the type that the function returns."""
        with refusals_about(f"the result is not what task {self.name!r} returns as it is now"):
            return cast("R", self.signature.read_result(value))

    def on_cancel(self, hook: Hook) -> Hook:
        """Call this with the context when a job was stopped."""
        return self._hooked("on_cancel", hook)

    def on_failure(self, hook: Hook) -> Hook:
        """Call this with the context and the error when an attempt failed, the last or not."""
        return self._hooked("on_failure", hook)

    @property
    def cancel_hook(self) -> Callable[..., Any] | None:
        """Return the function that ``on_cancel`` registered; None if there is none."""
        return self.hooks.get("on_cancel")

    @property
    def failure_hook(self) -> Callable[..., Any] | None:
        """Return the function that ``on_failure`` registered; None if there is none."""
        return self.hooks.get("on_failure")

    def announcement(self) -> dict[str, JSON]:
        """Return what the catalogue keeps of it, as JSON."""
        return announcement(self)

    @property
    def compensating(self) -> str | None:
        """Return the name of the task that undoes it, if there is one."""
        return self.compensate.name if self.compensate else None

    # How it is done.

    def _hooked(self, kind: str, hook: Hook) -> Hook:
        with refusals_about(f"task {self.name!r}"):
            return hooked(self.hooks, kind, hook)

    @cached_property
    def _blank(self) -> EncodedJob:
        return EncodedJob(**shared_fields(self))

    def _enqueued_many(
        self, calls: Sequence[Mapping[str, Any] | Sequence[Any]]
    ) -> Operation[list[Handle[R]]]:
        own = self.options
        keyed = any(limit.fields for limit in self.limits)
        differ = (self.target, self.unique, own.target, own.unique, own.idempotency, keyed)
        if len(calls) < 2 or any(differ):
            return (yield from self._enqueued(drafted_many(self, calls)))
        arguments = written_many(self, calls)
        options = yield from own.resolved()
        job = self._blank
        with tracing.enqueueing([job] * len(calls), options.tenant.name) as span:
            shared = _placed(job, options, span)
            ids: tuple[int, ...] = yield enqueue_calls.enqueue_many(shared, arguments)
            return [Handle(self.client, id_, options.tenant, created=True) for id_ in ids]

    def _enqueued(self, jobs: Sequence[NewJob]) -> Operation[list[Handle[R]]]:
        if not jobs:
            return []
        options = yield from self.options.resolved()
        with tracing.enqueueing(jobs, options.tenant.name) as span:
            placed = [_placed(job, options, span) for job in jobs]
            answers: tuple[Enqueued, ...] = yield enqueue_calls.enqueue(placed)
            span.tell(job=answers[0].id)
            return [Handle(self.client, a.id, options.tenant, created=a.created) for a in answers]

    def _perform(self, operation: Operation[T]) -> T:
        return self.client.perform(operation, self.options.tenant, self.options.connection)

    async def _aperform(self, operation: Operation[T]) -> T:
        return await self.client.aperform(operation, self.options.tenant, self.options.connection)

    def __repr__(self) -> str:
        return f"<task {self.name}>"


def _placed(job: NewJob, options: EnqueueOptionSet, span: tracing.Span) -> NewJob:
    """Return the job with ids in place of keys, and the trace in which it is enqueued."""
    if job.parent == options.parent and not options.after and span is tracing.NOTHING:
        return job
    return msgspec.structs.replace(
        job, parent=options.parent, after=options.after, options=span.carried(job.options)
    )
