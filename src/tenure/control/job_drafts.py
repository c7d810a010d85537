"""A job of a task, from the arguments of a call to what is enqueued."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypedDict, TypeVar, cast

import msgspec

from tenure.control.client import Client
from tenure.control.enqueue_options import EnqueueOptions
from tenure.control.signature import Signature
from tenure.control.template import Template
from tenure.domain.job import JSON, NewJob
from tenure.domain.task import JobOptions
from tenure.errors import InputRefused
from tenure.store.new_jobs import refuse_not_json

T = TypeVar("T")

_TOGETHER = 500  # calls whose arguments are written at once


class DeclaredFields(TypedDict):
    """The fields of a job that its task declares."""

    queue: str
    priority: int
    block_on: Sequence[Literal["paused", "failed"]]
    max_attempts: int
    orphan: Literal["retry", "fail"]
    options: Mapping[str, JSON] | None
    budget: Mapping[str, int | float] | None
    pools: Sequence[str]
    tags: Sequence[str] | None


class Draftable(Protocol):
    """A task, as far as its jobs depend on it."""

    client: Client
    name: str
    signature: Signature
    options: JobOptions
    placing: EnqueueOptions
    target: Template | None
    unique: Template | None


def drafted(task: Draftable, args: Sequence[Any], kwargs: Mapping[str, Any]) -> NewJob:
    """The job of one call."""
    return draft_with(task, json.loads(_written(task, args, kwargs)))


def draft_with(task: Draftable, arguments: Mapping[str, JSON]) -> NewJob:
    """The job with these arguments, which are known to fit."""
    placing = task.placing
    return NewJob(
        task=task.name,
        args=arguments,
        key=placing.key,
        run_at=placing.run_at,
        delay=placing.delay,
        owner=placing.owner,
        unique=placing.unique or _filled(task, "unique", task.unique, arguments),
        when_taken=placing.when_taken,
        idempotency=placing.idempotency,
        key_scope=placing.key_scope,
        target=placing.target or _filled(task, "target", task.target, arguments),
        parent=placing.parent,
        after=placing.after,
        **declared_fields(task),
    )


def declared_fields(task: Draftable) -> DeclaredFields:
    """Return the fields of a job that its task declares, whatever its arguments are."""
    settings, options = task.client.settings, task.options
    told = options.for_the_worker()
    if options.deadline is not None:
        told["deadline"] = options.deadline.total_seconds()  # the database says when that is
    if task.signature.secrets:
        told["secret"] = list(task.signature.secrets)
    return {
        "queue": options.queue,
        "priority": options.priority,
        "block_on": cast("Any", options.block_on),
        "max_attempts": (options.retry or settings.retry).attempts,
        "orphan": cast("Any", options.orphan or settings.on_orphan),
        "options": told or None,
        "budget": options.budget,
        "pools": options.pools,
        "tags": options.tags or None,
    }


def hiding(job: NewJob, names: Iterable[str]) -> NewJob:
    """The same job, of whose arguments these are secret too."""
    added = {*names} & {*job.args}
    if not added:
        return job
    options = job.options or {}
    secret = sorted({*options.get("secret", ()), *added})
    return msgspec.structs.replace(job, options={**options, "secret": secret})


def drafted_many(
    task: Draftable, calls: Sequence[Mapping[str, Any] | Sequence[Any]]
) -> list[NewJob]:
    """A job for each call: a dict has arguments by name, a tuple or a list by position."""
    if len(calls) > 1 and (task.placing.unique or task.placing.idempotency):
        raise InputRefused(
            f"task {task.name!r}: a unique or idempotency key stands for one job, and these are "
            f"{len(calls)}"
        )
    return _each(calls, lambda args, kwargs: drafted(task, args, kwargs))


def written_many(
    task: Draftable, calls: Iterable[Mapping[str, Any] | Sequence[Any]]
) -> msgspec.Raw:
    """The arguments of each call, as a JSON list, for jobs that differ in nothing else."""
    most = task.client.settings.max_args_bytes
    calls = list(calls)

    def write(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bytes:
        text = _written(task, args, kwargs)
        if _may_hold_nan(text):
            refuse_not_json(json.loads(text))
        return text

    written = []
    for start in range(0, len(calls), _TOGETHER):
        some = calls[start : start + _TOGETHER]
        text = task.signature.write_many(some)
        if text is None or len(text) > most or _may_hold_nan(text):
            text = b"[%s]" % b",".join(_each(some, write, start))
        written.append(text[1:-1])
    return msgspec.Raw(b"[%s]" % b",".join(written))


def _may_hold_nan(text: bytes) -> bool:
    """A number that JSON does not have, or a text that reads like one."""
    return b"NaN" in text or b"Infinity" in text


def _each(
    calls: Sequence[Mapping[str, Any] | Sequence[Any]],
    make: Callable[[Sequence[Any], Mapping[str, Any]], T],
    before: int = 0,
) -> list[T]:
    """What is made of each; ``before`` says how many came before them."""
    made = []
    for place, given in enumerate(calls, before + 1):
        try:
            if isinstance(given, Mapping):
                made.append(make((), given))
            elif isinstance(given, list | tuple):
                made.append(make(given, {}))
            else:
                raise InputRefused("they are neither a dict nor a tuple or a list")  # noqa: TRY301
        except InputRefused as why:
            raise InputRefused(f"arguments number {place}: {why}") from None
    return made


def _written(task: Draftable, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bytes:
    try:
        text = task.signature.write_arguments(args, kwargs)
    except InputRefused as why:
        raise InputRefused(f"task {task.name!r} cannot take these arguments: {why}") from None
    except RecursionError:
        raise InputRefused(
            f"task {task.name!r} cannot take these arguments: they are nested too deeply"
        ) from None
    most = task.client.settings.max_args_bytes
    if len(text) > most:
        raise InputRefused(
            f"the arguments of task {task.name!r} are {len(text)} bytes and {most} are the most; "
            f"store large things elsewhere and pass their name"
        )
    return text


def _filled(
    task: Draftable, option: str, template: Template | None, arguments: Mapping[str, JSON]
) -> str | None:
    if template is None:
        return None
    values = {
        name: arguments[name] if name in arguments else task.signature.default_of(name)
        for name in template.fields
    }
    try:
        return template.fill(values)
    except InputRefused as why:
        raise InputRefused(f"task {task.name!r}: {option}: {why}") from None
