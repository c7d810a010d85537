"""The answers of the verbs that recover jobs and prune rows."""

from datetime import datetime
from uuid import UUID

import msgspec

from tenure.domain.lifecycle import State


class Dead(msgspec.Struct, frozen=True):
    worker_id: UUID
    host: str
    pid: int
    beat_at: datetime
    expires_at: datetime


class Sweep(msgspec.Struct, frozen=True):
    dead: tuple[Dead, ...]  # declared dead by this call
    tenants: tuple[str, ...]  # in which dead workers hold jobs


class Recovered(msgspec.Struct, frozen=True):
    job: int
    state: State | None = None  # the new state; None in a dry run
    worker: str | None = None
    host: str | None = None  # of that worker; None in a dry run, or if unknown
    pid: int | None = None
    beat_at: datetime | None = None  # its last beat


class RecoveryResult(msgspec.Struct, frozen=True):
    dead: tuple[Dead, ...]
    blind_until: datetime | None  # no worker is declared dead before, since sweeps had stopped
    recovered: tuple[Recovered, ...]
    busy: tuple[int, ...]
    failed: tuple[int, ...]
    stale: tuple[int, ...]


class Pruned(msgspec.Struct, frozen=True):
    jobs: int
    events: int
    more: bool


class PrunedRecords(msgspec.Struct, frozen=True):
    records: int
    audit: int
