"""The answers of the catalogue of tasks."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from tenure.domain.job import JSON


class Serving(msgspec.Struct, frozen=True):
    digest: str
    workers: int


class KnownTask(msgspec.Struct, frozen=True):
    """A task as last announced."""

    name: str
    digest: str
    executor: str
    doc: str | None
    schema: Mapping[str, JSON] | None  # of its arguments; None: not described
    options: Mapping[str, JSON]  # declared defaults of the fields of its jobs
    target: str | None
    unique: str | None
    limits: tuple[str, ...]
    compensate: str | None
    everywhere: bool  # announced for all tenants
    first_announced_at: datetime
    announced_at: datetime
    serving: tuple[Serving, ...]  # the versions that live workers have
