"""Results of verbs about webhooks."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

import msgspec


class Webhook(msgspec.Struct, frozen=True):
    """An endpoint outside that is told what happens to jobs."""

    name: str
    url: str
    events: tuple[str, ...] | None  # None: all
    tasks: tuple[str, ...] | None  # None: of all
    secret: str  # only its end
    created_at: datetime
    created_by: str
    disabled: str | None  # why nothing is sent to it
    failing_since: datetime | None  # no delivery has succeeded since
    rotates_until: datetime | None  # until then the former secret signs as well
    pending: int  # deliveries that are still tried
    new_secret: str | None = None  # only in the answer that made it


class Delivery(msgspec.Struct, frozen=True):
    """A message to a webhook."""

    id: int
    webhook: str
    message: str  # the header webhook-id, the same at every attempt
    event: str
    job_id: int | None
    body: Mapping[str, Any]
    created_at: datetime
    attempts: int
    state: Literal["pending", "delivered", "given_up"]
    due_at: datetime | None  # the next attempt
    tried_at: datetime | None
    delivered_at: datetime | None
    status: int | None  # of the last response
    error: str | None  # of the last attempt


class DueWebhooks(msgspec.Struct, frozen=True):
    names: tuple[str, ...]  # something can be sent to them now
    next_due: float | None  # seconds until there is more


class TakenDelivery(msgspec.Struct, frozen=True):
    """A delivery that a worker makes now."""

    id: int
    url: str
    message: str
    body: str
    attempt: int
    secrets: tuple[str, ...]


class AttemptedDelivery(msgspec.Struct, frozen=True):
    """The outcome of an attempt; without an error it is delivered."""

    id: int
    attempt: int
    status: int | None = None
    error: str | None = None
    wait: float = 0  # seconds that the receiver asked to be left alone
