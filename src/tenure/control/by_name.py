"""Jobs of tasks that are named: by the command line, REST and other programs."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from tenure.control.catalogue import check_arguments, known_task, nearest
from tenure.control.client import Client
from tenure.control.enqueue_options import resolved_needs
from tenure.control.job_drafts import Draftable, drafted, hiding
from tenure.control.job_operations import job_with_key
from tenure.control.operation import Operation
from tenure.control.signature import Signature
from tenure.domain import bounds
from tenure.domain.job import JSON, NewJob
from tenure.domain.options import DECLARABLE
from tenure.domain.values import shown
from tenure.errors import InputRefused
from tenure.observe import tracing
from tenure.store.calls import enqueue_calls
from tenure.store.new_jobs import encode_json, refuse_not_json
from tenure.store.results import Enqueued

RESERVED_PREFIX = "tenure."  # how the names of Tenure's own tasks begin


class JobRequest(NamedTuple):
    """A job to enqueue; ``options`` are those of ``Task.using``, and ``secret``."""

    task: str | None
    args: Mapping[str, JSON]
    options: Mapping[str, Any]
    unannounced: bool = False  # it may wait until its task is announced


def job_of(
    client: Client, task: str | None, args: Mapping[str, JSON], options: Mapping[str, Any]
) -> NewJob:
    """Return a job of this task; ``options`` are those of ``Task.using``, and ``secret``.

    A client that knows tasks checks their arguments and refuses other names; a client that knows
    none takes every name. A job without a task ends as its children end.
    """
    if task is not None:
        refuse_bad_name(task)
    return _draft(_named(client, task), task, args, options)


def enqueued_by_name(
    client: Client, requests: Sequence[JobRequest]
) -> Operation[tuple[Enqueued, ...]]:
    """Enqueue these together.

    The declarations of the client's own tasks are sent along. Other tasks are looked up in the
    catalogue of the database, and their arguments are checked by its schema.
    """
    jobs: list[NewJob] = []
    stated: list[Collection[str]] = []
    for wanted in requests:
        if (
            wanted.task is None
            or wanted.task in client.tasks
            or wanted.task.startswith(RESERVED_PREFIX)
        ):
            jobs.append(job_of(client, wanted.task, wanted.args, wanted.options))
            stated.append(DECLARABLE)
            continue
        refuse_bad_name(wanted.task)
        known = yield from known_task(client.tasks, wanted.task, unannounced=wanted.unannounced)
        named = Draftable(client, wanted.task, _ANYTHING)
        job = _draft(named, wanted.task, wanted.args, wanted.options)
        if known is not None:
            check_arguments(known, job.args)
        # An option that was stated counts even if it is the default: the task may declare another.
        options = {**named.options.stored(wanted.options), **(job.options or {})}
        jobs.append(msgspec.structs.replace(job, options=options or None))
        stated.append(_stated_fields(wanted.options))
    partial = None if all(fields is DECLARABLE for fields in stated) else stated
    return (yield from enqueued(jobs, partial))


def refuse_bad_name(task: str) -> None:
    if (wrong := bounds.validation_error("task", task)) is not None:
        raise InputRefused(f"task: {wrong}")


def _draft(
    named: Draftable, task: str | None, args: Mapping[str, JSON], options: Mapping[str, Any]
) -> NewJob:
    secret = options.get("secret", ())
    if secret and (wrong := bounds.validation_error("secret", secret)) is not None:
        raise InputRefused(f"secret: {wrong}")
    if not isinstance(args, Mapping):
        raise InputRefused("args: they are not a JSON object; give {'name': value, ...}")
    named.options = named.options.changed({n: v for n, v in options.items() if n != "secret"})
    job = msgspec.structs.replace(drafted(named, (), args), task=task)
    return _hiding(job, secret) if secret else job


def enqueued(
    jobs: Sequence[NewJob], stated: Sequence[Collection[str]] | None = None
) -> Operation[tuple[Enqueued, ...]]:
    """Enqueue jobs together; a key names a job among them, else a job that exists."""
    among = {job.key for job in jobs}
    found: list[NewJob] = []
    for job in jobs:
        parent = job.parent
        if isinstance(parent, str) and parent not in among:
            parent = yield from job_with_key(parent)
        after = yield from resolved_needs(job.after, among)
        found.append(msgspec.structs.replace(job, parent=parent, after=after))
    with tracing.enqueueing(found) as span:
        drafts = [msgspec.structs.replace(j, options=span.carried(j.options)) for j in found]
        answer: tuple[Enqueued, ...] = yield enqueue_calls.enqueue(drafts, given=stated)
    return answer


def _stated_fields(options: Mapping[str, Any]) -> frozenset[str]:
    """Return the fields of a job in which these options are stored."""
    fields = {"max_attempts" if name == "retry" else name for name in options}
    return frozenset({*fields, "options"}) & DECLARABLE


def _hiding(job: NewJob, secret: Sequence[str]) -> NewJob:
    unknown = [name for name in secret if name not in job.args]
    if unknown:
        raise InputRefused(f"secret: there is no argument {shown(unknown[0])}")
    return hiding(job, secret)


class _Anything(Signature):
    """The signature of a task that only workers know: its arguments are taken as they are."""

    def write_arguments(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bytes:
        assert not args
        refuse_not_json(kwargs)
        return encode_json(kwargs).encode()


_NOTHING, _ANYTHING = Signature({}), _Anything({})


def _named(client: Client, name: str | None) -> Draftable:
    if name is None:
        return Draftable(client, "", _NOTHING)
    if name.startswith(RESERVED_PREFIX):
        raise InputRefused(
            f"{shown(name)} is a task of Tenure itself, which enqueues it when it has to"
        )
    if not client.tasks:
        return Draftable(client, name, _ANYTHING)
    if name not in client.tasks:
        raise InputRefused(f"there is no task {shown(name)}; {nearest(name, client.tasks)}")
    task = client.tasks[name]
    return Draftable(
        client, name, task.signature, task.options, task.target, task.unique, task.limits
    )
