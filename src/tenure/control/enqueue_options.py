"""The options of one job: those of its task, and when, where and by whom it is enqueued."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from tenure.control.client import as_tenant
from tenure.control.handle import Handle
from tenure.control.job_operations import job_with_key
from tenure.control.operation import Operation
from tenure.domain import bounds
from tenure.domain.bounds import LARGEST_ID
from tenure.domain.duration import Duration
from tenure.domain.job import After
from tenure.domain.options import (
    JOB_OPTIONS,
    JobOptions,
    Option,
    OptionSet,
    declared_in,
    optional,
    read_choice,
    read_duration,
    read_text,
    read_texts,
)
from tenure.domain.tenant import DEFAULT, Tenant
from tenure.domain.values import shown
from tenure.errors import InputRefused

JobReference = Handle[Any] | int | str  # a job: its handle, its id or its key


def _references(value: Any) -> Sequence[Any]:
    return (value,) if isinstance(value, Handle | int | str | After) else tuple(value)


def _read_reference(name: str, value: Any) -> int | str:
    if isinstance(value, Handle):
        return value.id
    if isinstance(value, bool) or not isinstance(value, int | str) or value == "":
        raise InputRefused(
            f"{name}: it takes a handle, an id or a key of a job, not {shown(value)}"
        )
    if isinstance(value, int) and not 0 <= value <= LARGEST_ID:
        raise InputRefused(f"{name}: {shown(value)} is not the id of a job")
    return value


def _read_after(name: str, value: Any) -> tuple[int | str | After, ...]:
    if value is None:
        return ()
    if isinstance(value, Mapping) or not isinstance(value, Handle | int | str | After | Sequence):
        raise InputRefused(f"{name}: it takes jobs in a list, not {shown(value)}")
    return tuple(
        After(_read_reference(name, job.job), job.policy)
        if isinstance(job, After)
        else _read_reference(name, job)
        for job in _references(value)
    )


def _read_timestamp(name: str, value: Any) -> Any:
    if (wrong := bounds.validation_error(name, value)) is not None:
        raise InputRefused(f"{name}: {wrong}")
    return value


def _read_tenant(name: str, value: Any) -> Tenant:
    if not isinstance(value, str | Tenant):
        raise InputRefused(f"{name}: it takes the name of a tenant, not {shown(value)}")
    return as_tenant(value)


_TEXT = Option(optional(read_text))


class EnqueueOptions(JobOptions, total=False):
    """Options of one job; target, unique and limits are plain strings, not templates."""

    run_at: Annotated[datetime | None, Option(optional(_read_timestamp))]
    delay: Annotated[Duration | None, Option(read_duration)]
    target: Annotated[str | None, _TEXT]
    limits: Annotated[Sequence[str] | None, Option(optional(read_texts))]
    parent: Annotated[JobReference | None, Option(optional(_read_reference))]
    after: Annotated[
        JobReference | After | Sequence[JobReference | After],
        Option(_read_after, (), json=tuple[int | str | After, ...]),
    ]
    owner: Annotated[str | None, _TEXT]
    unique: Annotated[str | None, _TEXT]
    when_taken: Annotated[
        Literal["return", "replace", "refuse"],
        Option(read_choice("return", "replace", "refuse"), "return"),
    ]
    idempotency: Annotated[str | None, _TEXT]
    key_scope: Annotated[
        Literal["owner", "tenant"], Option(read_choice("owner", "tenant"), "owner")
    ]  # whose the unique and idempotency keys are; admins may share them
    key: Annotated[str | None, _TEXT]
    tenant: Annotated[Tenant | str, Option(_read_tenant, DEFAULT)]
    connection: Annotated[Any, Option(lambda _, value: value)]  # of the caller's own transaction


class EnqueueOptionSet(OptionSet):
    declared = declared_in(EnqueueOptions)

    def changed(self, given: Mapping[str, Any]) -> Self:
        new = super().changed(given)
        for job in (given.get("parent"), *_references(given.get("after") or ())):
            job = job.job if isinstance(job, After) else job
            if isinstance(job, Handle) and job.tenant != new.tenant.name:
                raise InputRefused(
                    f"job {job.id} belongs to tenant {job.tenant!r} and this one to "
                    f"{new.tenant.name!r}; a job can only name jobs of its own tenant"
                )
        return new

    def resolved(self) -> Operation[Self]:
        """Return these options with ids in place of keys."""
        parent = self.parent
        if not isinstance(parent, str) and not self.after:
            return self
        if isinstance(parent, str):
            parent = yield from job_with_key(parent)
        after = yield from resolved_needs(self.after)
        return type(self)(**{**vars(self), "parent": parent, "after": after})


def resolved_needs(
    needs: Iterable[int | str | After], among: Collection[str | None] = ()
) -> Operation[tuple[After, ...]]:
    """Return the jobs that come first with ids in place of keys, except of keys ``among`` these."""
    found: list[After] = []
    for need in needs:
        need = need if isinstance(need, After) else After(need)
        if isinstance(need.job, str) and need.job not in among:
            need = After((yield from job_with_key(need.job)), need.policy)
        found.append(need)
    return tuple(found)


PLACEMENT = tuple(name for name in EnqueueOptionSet.declared if name not in JOB_OPTIONS)
