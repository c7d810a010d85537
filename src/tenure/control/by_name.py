"""Jobs as programs ask for them: the name of a task, its arguments as JSON, and what is said."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

from tenure.control.catalogue import check_arguments, known_task, nearest
from tenure.control.client import Client
from tenure.control.enqueue_options import READERS, EnqueueOptions
from tenure.control.job_drafts import Draftable, drafted, hiding
from tenure.control.job_operations import job_with_key
from tenure.control.operation import Operation
from tenure.control.signature import Signature
from tenure.control.template import Template
from tenure.domain import bounds
from tenure.domain.job import DECLARABLE, JSON, After, NewJob
from tenure.domain.lifecycle import Rung
from tenure.domain.retry import Retry
from tenure.domain.task import OF_WORKERS, JobOptions
from tenure.domain.values import shown
from tenure.errors import InputRefused, SettingInvalid
from tenure.observe import tracing
from tenure.store.calls import enqueue_calls
from tenure.store.new_jobs import as_json, refuse_not_json
from tenure.store.results import Enqueued

OURS = "tenure."  # how the names of Tenure's own tasks begin


class JobRequest(NamedTuple):
    """A job as a program asks for it; ``said`` is what ``Task.using`` takes, and what is secret."""

    task: str | None
    args: Mapping[str, JSON]
    said: Mapping[str, Any]
    unannounced: bool = False  # it may wait until somebody announces its task


@dataclass
class _Named:
    """A task of which this job is, with what is said of this job alone."""

    client: Client
    name: str
    signature: Signature
    options: JobOptions = field(default_factory=JobOptions)
    placing: EnqueueOptions = field(default_factory=EnqueueOptions)
    target: Template | None = None
    unique: Template | None = None


def job_of(
    client: Client, task: str | None, args: Mapping[str, JSON], said: Mapping[str, Any]
) -> NewJob:
    """A job of this task; ``said`` is what ``Task.using`` takes, and which arguments are secret.

    A client that knows tasks has their arguments checked, and takes no others; one that knows none
    takes every name. Without a task it is a job that ends as its own tasks end.
    """
    if task is not None:
        refuse_bad_name(task)
    return _draft(_named(client, task), task, args, said)


def enqueued_by_name(
    client: Client, asked: Sequence[JobRequest]
) -> Operation[tuple[Enqueued, ...]]:
    """Enqueue these together.

    What the tasks of a client's own declare is sent along. Of all others the database knows it:
    they are looked up in the catalogue, and their arguments are checked by its schema.
    """
    jobs: list[NewJob] = []
    said: list[Collection[str]] = []
    for each in asked:
        if each.task is None or each.task in client.tasks or each.task.startswith(OURS):
            jobs.append(job_of(client, each.task, each.args, each.said))
            said.append(DECLARABLE)
            continue
        refuse_bad_name(each.task)
        known = yield from known_task(client.tasks, each.task, unannounced=each.unannounced)
        named = _Named(client, each.task, _ANYTHING)
        job = _draft(named, each.task, each.args, each.said)
        if known is not None:
            check_arguments(known, job.args)
        jobs.append(msgspec.structs.replace(job, options=_said_options(job, named, each.said)))
        said.append(_said_fields(each.said))
    partial = None if all(fields is DECLARABLE for fields in said) else said
    return (yield from enqueued(jobs, partial))


def refuse_bad_name(task: str) -> None:
    if (wrong := bounds.complaint("task", task)) is not None:
        raise InputRefused(f"task: {wrong}")


def _draft(
    known: Draftable, task: str | None, args: Mapping[str, JSON], said: Mapping[str, Any]
) -> NewJob:
    secret = said.get("secret", ())
    if secret and (wrong := bounds.complaint("secret", secret)) is not None:
        raise InputRefused(f"secret: {wrong}")
    if not isinstance(args, Mapping):
        raise InputRefused("args: they are not a JSON object; give {'name': value, ...}")
    try:
        options = {n: v for n, v in said.items() if n not in READERS and n != "secret"}
        known.placing = known.placing.changed({n: v for n, v in said.items() if n in READERS})
        known.options = known.options.changed(_read(options))
    except SettingInvalid as refusal:
        raise InputRefused(str(refusal)) from None
    job = msgspec.structs.replace(drafted(known, (), args), task=task)
    return _hiding(job, secret) if secret else job


def enqueued(
    jobs: Sequence[NewJob], said: Sequence[Collection[str]] | None = None
) -> Operation[tuple[Enqueued, ...]]:
    """Enqueue them together; a key stands for a job among them, else for one that is there."""
    among = {job.key for job in jobs}
    found: list[NewJob] = []
    for job in jobs:
        parent = job.parent
        if isinstance(parent, str) and parent not in among:
            parent = yield from job_with_key(parent)
        after: list[int | str | After] = []
        for need in job.after:
            need = need if isinstance(need, After) else After(need)
            if isinstance(need.job, str) and need.job not in among:
                need = After((yield from job_with_key(need.job)), need.policy)
            after.append(need)
        found.append(msgspec.structs.replace(job, parent=parent, after=tuple(after)))
    with tracing.enqueueing(found) as span:
        drafts = [msgspec.structs.replace(j, options=span.carried(j.options)) for j in found]
        answer: tuple[Enqueued, ...] = yield enqueue_calls.enqueue(drafts, said=said)
    return answer


def _said_fields(said: Mapping[str, Any]) -> frozenset[str]:
    """Return the fields of a job in which this is said."""
    fields = {"max_attempts" if name == "retry" else name for name in said}
    return frozenset({*fields, "options"}) & DECLARABLE


def _said_options(job: NewJob, named: _Named, said: Mapping[str, Any]) -> dict[str, JSON] | None:
    """Return the options of a job with those too that were said to be as they are by default."""
    options = dict(job.options or {})
    for name in OF_WORKERS & said.keys():
        value = getattr(named.options, name)
        options.setdefault(name, str(value) if isinstance(value, Rung) else value)
    return options or None


def _hiding(job: NewJob, secret: Sequence[str]) -> NewJob:
    unknown = [name for name in secret if name not in job.args]
    if unknown:
        raise InputRefused(f"secret: there is no argument {shown(unknown[0])}")
    return hiding(job, secret)


class _Anything(Signature):
    """Of a task that only the workers know: its arguments are taken as they are."""

    def write_arguments(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bytes:
        assert not args
        refuse_not_json(kwargs)
        return as_json(kwargs).encode()


_NOTHING, _ANYTHING = Signature({}), _Anything({})


def _named(client: Client, name: str | None) -> Draftable:
    if name is None:
        return _Named(client, "", _NOTHING)
    if name.startswith(OURS):
        raise InputRefused(
            f"{shown(name)} is a task of Tenure itself, which enqueues it when it has to"
        )
    if not client.tasks:
        return _Named(client, name, _ANYTHING)
    if name not in client.tasks:
        raise InputRefused(f"there is no task {shown(name)}; {nearest(name, client.tasks)}")
    task = client.tasks[name]
    return _Named(
        client, name, task.signature, task.options, task.placing, task.target, task.unique
    )


def _read(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same options, with a retry that is written as JSON."""
    retry = options.get("retry")
    if isinstance(retry, Mapping):
        return {**options, "retry": Retry.from_options(retry)}
    return options
