"""Verbs about webhooks and what they are told."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Unpack

from tenure.store.verb import Actor, Int4, verb
from tenure.store.webhook_results import (
    AttemptedDelivery,
    Delivery,
    DueWebhooks,
    TakenDelivery,
    Webhook,
)


@verb()
def set_webhook(
    name: str,
    url: str,
    events: Sequence[str] | None = None,
    tasks: Sequence[str] | None = None,
    **actor: Unpack[Actor],
) -> Webhook:
    """Create a webhook, or replace one; only the answer for a new one has its secret."""


@verb()
def rotate_webhook(
    name: str, keep: timedelta = timedelta(hours=24), **actor: Unpack[Actor]
) -> Webhook: ...


@verb()
def drop_webhook(name: str, **actor: Unpack[Actor]) -> dict[str, str]: ...


@verb()
def test_webhook(name: str, **actor: Unpack[Actor]) -> Delivery: ...


@verb(safe=True)
def redeliver(
    webhook: str, delivery: int | None = None, **actor: Unpack[Actor]
) -> dict[str, int]: ...


@verb(safe=True)
def webhooks(name: str | None = None) -> tuple[Webhook, ...]: ...


@verb(safe=True)
def deliveries(webhook: str, *, below: int | None = None, n: Int4 = 50) -> tuple[Delivery, ...]: ...


@verb(safe=True)
def due_webhooks() -> DueWebhooks: ...


@verb()
def take_deliveries(webhook: str, n: Int4 = 16) -> tuple[TakenDelivery, ...]: ...


@verb(safe=True)
def record_deliveries(webhook: str, results: Sequence[AttemptedDelivery]) -> dict[str, Any]: ...
