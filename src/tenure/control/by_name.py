"""Jobs as programs ask for them: the name of a task, its arguments as JSON, and what is said."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from tenure.control.client import Client
from tenure.control.drafting import Draftable, drafted
from tenure.control.following import job_with_key
from tenure.control.placing import READERS, Placing
from tenure.control.signature import Signature
from tenure.control.steps import Steps
from tenure.control.template import Template
from tenure.domain.job import JSON, After, NewJob
from tenure.domain.retry import Retry
from tenure.domain.task import JobOptions
from tenure.errors import InputRefused, SettingInvalid
from tenure.observe import tracing
from tenure.store.calls import enqueueing
from tenure.store.results import Enqueued

OURS = "tenure."  # how the names of Tenure's own tasks begin


def job_of(
    client: Client, task: str | None, args: Mapping[str, JSON], said: Mapping[str, Any]
) -> NewJob:
    """A job of this task; ``said`` is what ``Task.using`` takes, and which arguments are secret.

    A client that knows tasks has their arguments checked, and takes no others; one that knows none
    takes every name. Without a task it is a job that ends as its own tasks end.
    """
    secret = said.get("secret", ())
    try:
        known = _named(client, task)
        options = {n: v for n, v in said.items() if n not in READERS and n != "secret"}
        known.placing = known.placing.changed({n: v for n, v in said.items() if n in READERS})
        known.options = known.options.changed(_read(options))
    except SettingInvalid as refusal:
        raise InputRefused(str(refusal)) from None
    job = msgspec.structs.replace(drafted(known, (), args), task=task)
    return _hiding(job, secret) if secret else job


def enqueued(jobs: Sequence[NewJob]) -> Steps[tuple[Enqueued, ...]]:
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
        answer: tuple[Enqueued, ...] = yield enqueueing.enqueue(drafts)
    return answer


def _hiding(job: NewJob, secret: Sequence[str]) -> NewJob:
    unknown = [name for name in secret if name not in job.args]
    if unknown:
        raise InputRefused(f"secret: there is no argument {unknown[0]!r}")
    options = job.options or {}
    names = sorted({*options.get("secret", ()), *secret})
    return msgspec.structs.replace(job, options={**options, "secret": names})


@dataclass
class _Named:
    """A task of which this job is, with what is said of this job alone."""

    client: Client
    name: str
    signature: Signature
    options: JobOptions = field(default_factory=JobOptions)
    placing: Placing = field(default_factory=Placing)
    target: Template | None = None
    unique: Template | None = None


class _Anything(Signature):
    """Of a task that only the workers know: its arguments are taken as they are."""

    def write_arguments(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bytes:
        assert not args
        return msgspec.json.encode(kwargs)


_NOTHING, _ANYTHING = Signature({}), _Anything({})


def _named(client: Client, name: str | None) -> Draftable:
    if name is None:
        return _Named(client, "", _NOTHING)
    if name.startswith(OURS):
        raise InputRefused(f"{name!r} is a task of Tenure itself, which enqueues it when it has to")
    if not client.tasks:
        return _Named(client, name, _ANYTHING)
    if name not in client.tasks:
        [nearest] = difflib.get_close_matches(name, client.tasks, n=1, cutoff=0)
        raise InputRefused(f"there is no task {name!r}; the nearest is {nearest!r}")
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
