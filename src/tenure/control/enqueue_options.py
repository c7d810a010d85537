"""Where one job goes: its time, its place in a tree, its keys, whose it is."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, Self

from tenure.control.client import as_tenant
from tenure.control.handle import Handle
from tenure.control.job_operations import job_with_key
from tenure.control.operation import Operation
from tenure.domain import bounds
from tenure.domain.bounds import LARGEST_ID
from tenure.domain.job import After
from tenure.domain.task import Length, WrittenOptions, read_length, read_text, refuse_unknown
from tenure.domain.tenant import DEFAULT, Tenant
from tenure.domain.values import shown
from tenure.errors import InputRefused, SettingInvalid

Named = Handle[Any] | int | str  # a job: its handle, its id or its key


class EnqueueArguments(WrittenOptions, total=False):
    """What may be said of each job; target and unique are taken as they are, not as templates."""

    run_at: datetime | None
    delay: Length | None
    target: str | None
    parent: Named | None
    after: Named | After | Sequence[Named | After]
    owner: str | None
    unique: str | None
    when_taken: Literal["return", "replace", "refuse"]
    idempotency: str | None
    key_scope: Literal["owner", "tenant"]  # whose the two keys are; admins may share them
    key: str | None
    tenant: Tenant | str
    connection: Any  # of the caller's own transaction


@dataclass(frozen=True)
class EnqueueOptions:
    run_at: datetime | None = None
    delay: timedelta | None = None
    target: str | None = None  # none: as the template of the task says
    parent: int | str | None = None
    after: tuple[int | str | After, ...] = ()
    owner: str | None = None
    unique: str | None = None
    when_taken: Literal["return", "replace", "refuse"] = "return"
    idempotency: str | None = None
    key_scope: Literal["owner", "tenant"] = "owner"
    key: str | None = None
    tenant: Tenant = DEFAULT
    connection: Any = None

    def changed(self, written: Mapping[str, Any]) -> Self:
        refuse_unknown(written, READERS)
        placing = dataclasses.replace(self, **{n: READERS[n](n, v) for n, v in written.items()})
        for named in (written.get("parent"), *_listed(written.get("after") or ())):
            named = named.job if isinstance(named, After) else named
            if isinstance(named, Handle) and named.tenant != placing.tenant.name:
                raise InputRefused(
                    f"job {named.id} is of tenant {named.tenant!r} and this one of "
                    f"{placing.tenant.name!r}; jobs of two tenants know nothing of each other"
                )
        return placing

    def found(self) -> Operation[Self]:
        """The same, with ids where there were keys."""
        parent = self.parent
        if isinstance(parent, str):
            parent = yield from job_with_key(parent)
        after: list[int | str | After] = []
        for need in self.after:
            policy = need.policy if isinstance(need, After) else "wait"
            job = need.job if isinstance(need, After) else need
            if isinstance(job, str):
                job = yield from job_with_key(job)
            after.append(After(job, policy))
        return dataclasses.replace(self, parent=parent, after=tuple(after))


def _listed(value: Any) -> Sequence[Any]:
    return (value,) if isinstance(value, Handle | int | str | After) else tuple(value)


def _named(name: str, value: Any) -> int | str:
    if isinstance(value, Handle):
        return value.id
    if isinstance(value, bool) or not isinstance(value, int | str) or value == "":
        raise SettingInvalid(
            f"{name}: it takes a handle, an id or a key of a job, not {shown(value)}"
        )
    if isinstance(value, int) and not 0 <= value <= LARGEST_ID:
        raise SettingInvalid(f"{name}: {shown(value)} is not the id of a job")
    return value


def _need(name: str, value: Any) -> int | str | After:
    if isinstance(value, After):
        return After(_named(name, value.job), value.policy)
    return _named(name, value)


def _after(name: str, value: Any) -> tuple[int | str | After, ...]:
    if isinstance(value, Mapping) or not isinstance(value, Handle | int | str | After | Sequence):
        raise SettingInvalid(f"{name}: it takes jobs in a list, not {shown(value)}")
    return tuple(_need(name, each) for each in _listed(value))


def _moment(name: str, value: Any) -> datetime | None:
    if value is None:
        return None
    if (wrong := bounds.complaint(name, value)) is not None:
        raise SettingInvalid(f"{name}: {wrong}")
    moment: datetime = value
    return moment


def _when_taken(name: str, value: Any) -> str:
    if value not in ("return", "replace", "refuse"):
        raise SettingInvalid(
            f"{name}: it takes 'return', 'replace' or 'refuse', not {shown(value)}"
        )
    return str(value)


def _key_scope(name: str, value: Any) -> str:
    if value not in ("owner", "tenant"):
        raise SettingInvalid(f"{name}: it takes 'owner' or 'tenant', not {shown(value)}")
    return str(value)


def _tenant(name: str, value: Any) -> Tenant:
    if not isinstance(value, str | Tenant):
        raise SettingInvalid(f"{name}: it takes the name of a tenant, not {shown(value)}")
    return as_tenant(value)


def _unless_none(read: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    return lambda name, value: None if value is None else read(name, value)


READERS: Mapping[str, Callable[[str, Any], Any]] = {
    "run_at": _moment,
    "delay": read_length,
    "target": _unless_none(read_text),
    "parent": _unless_none(_named),
    "after": lambda name, value: () if value is None else _after(name, value),
    "owner": _unless_none(read_text),
    "unique": _unless_none(read_text),
    "when_taken": _when_taken,
    "idempotency": _unless_none(read_text),
    "key_scope": _key_scope,
    "key": _unless_none(read_text),
    "tenant": _tenant,
    "connection": lambda _, value: value,
}
