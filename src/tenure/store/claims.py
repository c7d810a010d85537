"""Read claimed jobs from the columns in which the database sends them."""

import json
from itertools import repeat, starmap
from typing import Any

import msgspec

from tenure.store.answers import TOO_DEEP, flattened
from tenure.store.results import Claim, Claimed, Unreadable

_CUT = json.dumps(TOO_DEEP).encode()


class _JobColumns(msgspec.Struct):
    """A column without values is missing."""

    id: list[int] = []
    lane: list[int] = []
    args: list[msgspec.Raw] = []
    attempt: list[int] = []
    max_attempts: list[int] = []
    crashes: list[int] = []
    priority: list[int] = []
    owner: list[str] = []
    root_id: list[int] = []
    parent_id: list[int | None] | None = None
    key: list[str | None] | None = None
    target: list[str | None] | None = None
    options: list[dict[str, Any] | None] | None = None
    budget: list[dict[str, float] | None] | None = None
    checkpoint: list[msgspec.Raw] | None = None
    resume_value: list[msgspec.Raw] | None = None
    slots: list[dict[str, str] | None] | None = None
    alone: list[bool] | None = None
    waited_ms: list[int | None] = []


class ClaimColumns(msgspec.Struct):
    """Jobs as the database sends them, and the floors of the next claim."""

    alive: bool
    floors: msgspec.Raw
    token: int = 0
    jobs: _JobColumns = msgspec.field(default_factory=_JobColumns)
    lanes: dict[str, tuple[str, str]] = {}


class _LooseColumns(msgspec.Struct):
    """The same, with undecoded values."""

    alive: bool
    floors: msgspec.Raw
    token: int = 0
    jobs: dict[str, list[msgspec.Raw] | None] = {}
    lanes: dict[str, tuple[str | None, str]] = {}


_columns = msgspec.json.Decoder(ClaimColumns).decode
_loose_columns = msgspec.json.Decoder(_LooseColumns).decode
_job_columns = msgspec.json.Decoder(_JobColumns).decode


def read_claim(text: bytes | str) -> Claim:
    """Return the jobs of a claim; an unreadable row does not affect the others."""
    try:
        return claim_of(_columns(text))
    except (msgspec.DecodeError, RecursionError):
        return _read_each(_loose_columns(flattened(text)))


def claim_of(claim: ClaimColumns) -> Claim:
    """Return the jobs of these columns."""
    return Claim(_jobs(claim.jobs, claim), bytes(claim.floors).decode(), claim.alive)


def _read_each(loose: _LooseColumns) -> Claim:
    columns = {name: column for name, column in loose.jobs.items() if column is not None}
    lanes = {lane: (task or "", queue) for lane, (task, queue) in loose.lanes.items()}
    claim = ClaimColumns(loose.alive, loose.floors, loose.token, lanes=lanes)
    jobs: list[Claimed] = []
    unreadable: list[Unreadable] = []
    for position, number in enumerate(columns.get("id", ())):
        row = {name: [column[position]] for name, column in columns.items()}
        text = msgspec.json.encode(row)
        try:
            if _CUT in text:
                raise msgspec.DecodeError("it is nested too deeply")  # noqa: TRY301
            jobs += _jobs(_job_columns(text), claim)
        except (msgspec.DecodeError, RecursionError) as error:
            unreadable.append(Unreadable(int(bytes(number)), loose.token, str(error)))
    return Claim(tuple(jobs), bytes(loose.floors).decode(), loose.alive, tuple(unreadable))


def _jobs(columns: _JobColumns, claim: ClaimColumns) -> tuple[Claimed, ...]:
    nothing = [None] * len(columns.id)
    lanes = {int(lane): names for lane, names in claim.lanes.items()}
    names = [lanes[lane] for lane in columns.lane]
    rows = zip(
        columns.id,
        repeat(claim.token, len(names)),
        (task for task, _ in names),
        (queue for _, queue in names),
        # Copy: a slice would keep the whole answer in memory as long as the job runs.
        map(bytes, columns.args),
        columns.attempt,
        columns.max_attempts,
        columns.crashes,
        columns.priority,
        columns.owner,
        columns.root_id,
        columns.parent_id or nothing,
        columns.key or nothing,
        columns.target or nothing,
        columns.options or nothing,
        columns.budget or nothing,
        map(_unless_null, columns.checkpoint) if columns.checkpoint else nothing,
        columns.slots or nothing,
        columns.alone or [False] * len(columns.id),
        columns.waited_ms,
        map(_unless_null, columns.resume_value) if columns.resume_value else nothing,
        strict=True,
    )
    return tuple(starmap(Claimed, rows))


def _unless_null(raw: msgspec.Raw) -> bytes | None:
    text = bytes(raw)
    return None if text == b"null" else text
