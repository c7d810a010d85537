"""Results of verbs about limits, grants and reservations."""

from collections.abc import Mapping
from datetime import datetime

import msgspec


class GrantAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The answer to a request for a grant or a reservation: one of these."""

    granted: bool = False
    wait: float = 0  # seconds until it may ask again
    refused: str | None = None  # why it can never be granted
    exhausted: str | None = None  # why the budget does not suffice


class Rate(msgspec.Struct, frozen=True):
    amount: float
    per: float  # seconds
    burst: float


class LimitClosure(msgspec.Struct, frozen=True):
    until: datetime | None  # None: until it is opened
    by: str
    reason: str | None


class LimitedName(msgspec.Struct, frozen=True):
    """The state of a limit, or of one name of a template."""

    name: str
    levels: Mapping[str, float]  # what is left of each unit
    in_use: int  # grants; not counted where their number is not limited
    waiting: int  # jobs in its line
    closed: LimitClosure | None
    due_at: datetime | None  # when the next of them may start


class Limit(msgspec.Struct, frozen=True):
    name: str
    rates: Mapping[str, Rate]  # by unit
    at_once: int | None
    created_at: datetime
    created_by: str
    closed: LimitClosure | None
    names: tuple[LimitedName, ...]


class DispatchPause(msgspec.Struct, frozen=True):
    """A paused queue, target, pool, schedule or tenant."""

    subject: str
    name: str  # empty for the tenant itself
    paused_at: datetime
    paused_by: str
    reason: str | None
