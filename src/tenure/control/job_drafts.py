"""Drafts of jobs: from the arguments of a call to the job that is enqueued."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from tenure.control.client import Client
from tenure.control.enqueue_options import PLACEMENT, EnqueueOptionSet
from tenure.control.signature import Signature
from tenure.control.template import Template
from tenure.domain import bounds
from tenure.domain.bounds import MAX_LEVELS
from tenure.domain.job import JSON, EncodedJob, NewJob
from tenure.domain.options import COLUMNS
from tenure.domain.values import shown
from tenure.errors import InputRefused
from tenure.store.new_jobs import refuse_not_json

T = TypeVar("T")

_TOGETHER = 500  # calls whose arguments are written at once
_NO_NUMBER = re.compile(rb"NaN|Infinity|[0-9]{300}")

_PLACED = tuple(name for name in PLACEMENT if name in NewJob.__struct_fields__)


@dataclass(eq=False)
class Draftable:
    """A task, as far as its jobs depend on it."""

    client: Client
    name: str
    signature: Signature
    options: EnqueueOptionSet = field(default_factory=EnqueueOptionSet)
    target: Template | None = None
    unique: Template | None = None
    limits: tuple[Template, ...] = ()


def drafted(task: Draftable, args: Sequence[Any], kwargs: Mapping[str, Any]) -> NewJob:
    """Return the job of one call."""
    arguments = json.loads(_written(task, args, kwargs))
    job = NewJob(args=arguments, **shared_fields(task))
    return msgspec.structs.replace(job, **_filled_in(task, job, arguments))


def encoded(
    task: Draftable, job: EncodedJob, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> NewJob:
    """Return the job of one call, like another one of the task, with its arguments encoded."""
    text = _written(task, args, kwargs)
    has_limits = job.limits is None and bool(task.limits)
    has_templates = task.target is not None or task.unique is not None or has_limits
    filled = _filled_in(task, job, json.loads(text)) if has_templates else {}
    return msgspec.structs.replace(job, args=msgspec.Raw(text), **filled)


def shared_fields(task: Draftable) -> dict[str, Any]:
    """Return the fields that all jobs of a task have in common."""
    placed = {name: getattr(task.options, name) for name in _PLACED}
    if placed["limits"] is None and not any(limit.fields for limit in task.limits):
        placed["limits"] = _filled_limits(task, {})
    return {"task": task.name, **placed, **declared_fields(task)}


def _filled_in(task: Draftable, job: NewJob, arguments: Mapping[str, JSON]) -> dict[str, Any]:
    """Return the fields that are templates, filled in with the arguments of the job."""
    filled: dict[str, Any] = {
        "unique": job.unique or _filled(task, "unique", task.unique, arguments),
        "target": job.target or _filled(task, "target", task.target, arguments),
    }
    if job.limits is None:
        filled["limits"] = _filled_limits(task, arguments)
    return filled


def _filled_limits(task: Draftable, arguments: Mapping[str, JSON]) -> tuple[str, ...] | None:
    if not task.limits:
        return None
    limits = (_filled(task, "limits", each, arguments) for each in task.limits)
    return tuple(name for name in limits if name is not None)


def declared_fields(task: Draftable) -> dict[str, Any]:
    """Return the fields of a job that its task declares, whatever its arguments are."""
    settings, options = task.client.settings, task.options
    stored = options.stored()
    if task.signature.secrets:
        stored["secret"] = list(task.signature.secrets)
    return {
        **{name: options.column(name, settings) for name in COLUMNS},
        "max_attempts": (options.retry or settings.retry).attempts,
        "options": stored or None,
    }


def hiding(job: NewJob, names: Iterable[str]) -> NewJob:
    """Return the job with these of its arguments marked as secret too."""
    added = {*names} & {*job.args}
    if not added:
        return job
    options = job.options or {}
    secret = sorted({*options.get("secret", ()), *added})
    return msgspec.structs.replace(job, options={**options, "secret": secret})


def drafted_many(
    task: Draftable, calls: Sequence[Mapping[str, Any] | Sequence[Any]]
) -> list[NewJob]:
    """Return a job for each call; a dict has arguments by name, a tuple or a list by position."""
    if len(calls) > 1 and (task.options.unique or task.options.idempotency):
        raise InputRefused(
            f"task {task.name!r}: a unique or idempotency key is for one job, and these are "
            f"{len(calls)}"
        )
    return _each(calls, lambda args, kwargs: drafted(task, args, kwargs))


def written_many(
    task: Draftable, calls: Iterable[Mapping[str, Any] | Sequence[Any]]
) -> msgspec.Raw:
    """Return the arguments of calls that differ in nothing else, as a JSON list."""
    limit = task.client.settings.max_args_bytes
    calls = list(calls)

    written = []
    for start in range(0, len(calls), _TOGETHER):
        some = calls[start : start + _TOGETHER]
        text = task.signature.write_many(some)
        if text is None or len(text) > limit or _is_suspect(text):
            each = _each(some, lambda args, kwargs: _written(task, args, kwargs), start)
            text = b"[%s]" % b",".join(each)
        written.append(text[1:-1])
    return msgspec.Raw(b"[%s]" % b",".join(written))


def _is_suspect(text: bytes) -> bool:
    """Tell whether there may be something in it that no JSON has, or that no reader can take."""
    return text.count(b"{") + text.count(b"[") > MAX_LEVELS or _NO_NUMBER.search(text) is not None


def _each(
    calls: Sequence[Mapping[str, Any] | Sequence[Any]],
    make: Callable[[Sequence[Any], Mapping[str, Any]], T],
    before: int = 0,
) -> list[T]:
    """Return what ``make`` makes of each call; ``before`` calls came before them."""
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
    limit = task.client.settings.max_args_bytes
    if len(text) > limit:
        raise InputRefused(
            f"the arguments of task {task.name!r} are {len(text)} bytes, and the limit is {limit}; "
            f"store large things elsewhere and pass their name"
        )
    if _is_suspect(text):
        refuse_not_json(json.loads(text))
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
        text = template.fill(values)
    except InputRefused as why:
        raise InputRefused(f"task {task.name!r}: {option}: {why}") from None
    bound = "limit" if option == "limits" else option  # the text is one of a job's limits
    if (wrong := bounds.validation_error(bound, text)) is not None:
        raise InputRefused(f"{option} of a job of task {shown(task.name)}: {wrong}")
    return text
