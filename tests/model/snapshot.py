"""Everything the database says at one moment, read as its owner."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cached_property
from typing import Any
from uuid import UUID

import msgspec
import psycopg

from tenure.domain.lifecycle import ENDED, Intent, Reason, State

_READ = b"""
SELECT json_build_object(
    'now', tenure.now(),
    'rows', (SELECT coalesce(json_agg(r ORDER BY r.id), '[]') FROM (
        SELECT j.*, l.queue, l.task, o.result, o.error, o.checkpoint, o.progress, s.intent,
            (SELECT count(*) FROM tenure.partial AS p WHERE p.job_id = j.id) AS partials
        FROM tenure.job AS j JOIN tenure.lane AS l ON l.id = j.lane
        LEFT JOIN tenure.outcome AS o ON o.job_id = j.id
        LEFT JOIN tenure.cancellation AS s ON s.id = j.stop_id) AS r),
    'lives', (SELECT coalesce(json_agg(w), '[]') FROM tenure.worker AS w),
    'edges', (SELECT coalesce(json_agg(e), '[]') FROM tenure.edge AS e),
    'audit', (SELECT coalesce(json_agg(a ORDER BY a.id), '[]') FROM tenure.audit AS a),
    'records', (SELECT coalesce(json_agg(c ORDER BY c.id), '[]') FROM tenure.cancellation AS c),
    'members', (SELECT coalesce(json_agg(m), '[]') FROM tenure.member AS m),
    'signals', (SELECT coalesce(json_agg(s), '[]') FROM tenure.signal AS s),
    'pauses', (SELECT coalesce(json_agg(json_build_array(p.subject, p.name)), '[]')
        FROM tenure.pause AS p),
    'spending', (SELECT coalesce(json_agg(s), '[]') FROM (
        SELECT s.job_id, s.unit, sum(s.amount) AS amount FROM tenure.spent AS s
        GROUP BY s.job_id, s.unit) AS s),
    'grants', (SELECT coalesce(json_agg(g), '[]') FROM tenure.limit_grant AS g),
    'closures', (SELECT coalesce(json_agg(c.name), '[]') FROM tenure.limit_closure AS c
        WHERE c.until > tenure.now()),
    'reserved', (SELECT coalesce(json_agg(v), '[]') FROM tenure.reservation AS v),
    'step_rows', (SELECT coalesce(json_agg(s ORDER BY s.id), '[]') FROM tenure.job_step AS s),
    'publications', (SELECT coalesce(json_agg(p), '[]') FROM tenure.publication AS p
        WHERE p.expires_at > tenure.now()),
    'refusals', (SELECT count(*) FROM tenure.event AS e WHERE e.kind = 'refused')
)::text
"""


class JobRow(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    root_id: int
    parent_id: int | None
    position: int | None
    token: int | None
    stop_id: int | None
    intent: Intent | None  # of the stop
    run_at: datetime | None
    started_at: datetime | None
    worker_id: UUID | None
    queue: str
    task: str | None
    state: State
    waiting: Reason | None
    priority: int
    attempt: int
    max_attempts: int
    crashes: int
    alone: bool
    ready: bool
    holds: bool
    blocks: bool
    target: str | None
    limits: tuple[str, ...] | None
    unique_key: str | None
    idempotency_key: str | None
    result: Any
    error: Any
    checkpoint: Any
    progress: Any
    partials: int

    @property
    def is_over(self) -> bool:
        return self.state in ENDED

    @property
    def waits_for_family(self) -> bool:
        """Without running code of its own, but perhaps with some below it."""
        return self.waiting in (Reason.TASKS, Reason.CHILDREN)

    @property
    def kept(self) -> tuple[object, ...]:
        """What an accepted write of its worker would change."""
        return (self.state, self.token, self.attempt, self.crashes, self.result, self.error,
                self.checkpoint, self.progress, self.partials)  # fmt: skip


class StepRow(msgspec.Struct, frozen=True):
    job_id: int
    name: str
    kind: str
    digest: str
    value: Any
    ended_at: datetime | None
    due_at: datetime | None
    timed_out: bool
    event: str | None
    publication_id: int | None
    question: Any
    changes: int

    @property
    def is_open(self) -> bool:
        return self.ended_at is None

    @property
    def is_kept(self) -> bool:
        return not self.is_open

    @property
    def question_id(self) -> bool:
        return self.kind == "question"


class Publication(msgspec.Struct, frozen=True):
    id: int
    name: str


class Life(msgspec.Struct, frozen=True):
    """A worker's row."""

    id: UUID
    beat_at: datetime
    expires_at: datetime
    draining_at: datetime | None
    dead_at: datetime | None


class Edge(msgspec.Struct, frozen=True):
    job_id: int
    needs_id: int
    policy: str


class Note(msgspec.Struct, frozen=True):
    id: int
    actor: str
    via: str
    verb: str
    subject: str
    name: str


class Record(msgspec.Struct, frozen=True):
    id: int
    job_id: int
    intent: Intent
    status: str
    force: bool
    completed_at: datetime | None


class MemberRow(msgspec.Struct, frozen=True):
    stop_id: int
    job_id: int
    became: State | None


class SignalRow(msgspec.Struct, frozen=True):
    worker_id: UUID
    job_id: int
    token: int


class Spending(msgspec.Struct, frozen=True):
    job_id: int
    unit: str
    amount: float


class Grant(msgspec.Struct, frozen=True):
    job_id: int
    number: int
    amounts: Mapping[str, float]


class Reserved(msgspec.Struct, frozen=True):
    job_id: int
    holder_id: int
    number: int
    unit: str
    amount: float


class Snapshot(msgspec.Struct, frozen=True, dict=True):
    now: datetime
    rows: tuple[JobRow, ...]
    lives: tuple[Life, ...]
    edges: tuple[Edge, ...]
    audit: tuple[Note, ...]
    records: tuple[Record, ...]
    members: tuple[MemberRow, ...]
    signals: tuple[SignalRow, ...]
    pauses: tuple[tuple[str, str], ...]
    spending: tuple[Spending, ...]
    grants: tuple[Grant, ...]
    closures: tuple[str, ...]
    reserved: tuple[Reserved, ...]
    step_rows: tuple[StepRow, ...]
    publications: tuple[Publication, ...]
    refusals: int

    @cached_property
    def steps(self) -> Mapping[tuple[int, str], StepRow]:
        return {(row.job_id, row.name): row for row in self.step_rows}

    @cached_property
    def jobs(self) -> Mapping[int, JobRow]:
        return {row.id: row for row in self.rows}

    @cached_property
    def workers(self) -> Mapping[UUID, Life]:
        return {life.id: life for life in self.lives}

    @cached_property
    def _children(self) -> Mapping[int, list[JobRow]]:
        children: dict[int, list[JobRow]] = {}
        for row in self.rows:
            if row.parent_id is not None:
                children.setdefault(row.parent_id, []).append(row)
        return children

    def children(self, job: int) -> list[JobRow]:
        return self._children.get(job, [])

    def below(self, job: int) -> Iterator[JobRow]:
        for child in self.children(job):
            yield child
            yield from self.below(child.id)

    def above(self, job: int) -> Iterator[JobRow]:
        parent = self.jobs[job].parent_id
        while parent is not None:
            yield self.jobs[parent]
            parent = self.jobs[parent].parent_id

    def of_target(self, target: str) -> Iterator[JobRow]:
        return (row for row in self.rows if row.target == target)

    def reach(self, job: int, *, dependents: bool) -> set[int]:
        """The job, all below it and, if asked, all that comes after any of these that is not over.

        But for those that run whatever becomes of what they come after.
        """
        reached: set[int] = set()
        found = [job]
        while found:
            one = found.pop()
            if one in reached:
                continue
            reached.add(one)
            found += [child.id for child in self.children(one)]
            if dependents and not self.jobs[one].is_over:
                after = (edge for edge in self.edges if edge.needs_id == one)
                found += [edge.job_id for edge in after if edge.policy != "run"]
        return reached

    def unchanged_since(self, before: "Snapshot") -> bool:
        return all(
            getattr(self, name) == getattr(before, name)
            for name in self.__struct_fields__
            if name not in ("now", "refusals")
        )


_decode = msgspec.json.Decoder(Snapshot).decode


def look(sql: psycopg.Connection) -> Snapshot:
    row = sql.execute(_READ).fetchone()
    assert row is not None
    return _decode(row[0])


def moves(before: Snapshot, after: Snapshot) -> Mapping[int, tuple[State, State]]:
    return {
        row.id: (before.jobs[row.id].state, row.state)
        for row in after.rows
        if row.id in before.jobs and before.jobs[row.id].state is not row.state
    }


def runs_below(now: Snapshot, job: int) -> bool:
    return any(row.state is State.RUNNING for row in now.below(job))
