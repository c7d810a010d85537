"""Webhooks, managed by admins."""

from typing import Annotated

from fastapi import Path

from tenure.control.authorized_client import AuthorizedClient
from tenure.domain.options import read_duration
from tenure.errors import NotFound
from tenure.store.calls import webhook_calls
from tenure.store.webhook_results import Delivery, Webhook
from tenure.web.context import Below, Limit
from tenure.web.models import Body, Dropped, Redelivered, RedeliveryBody, RotationBody, WebhookBody
from tenure.web.routes import Routes

routes = Routes("webhooks", "/api/webhooks")
Name = Annotated[str, Path(description="The name of a webhook.")]


@routes.get("")
async def list_webhooks(caller: AuthorizedClient) -> tuple[Webhook, ...]:
    """List webhooks. Their secrets are not shown."""
    return await caller.asend(webhook_calls.webhooks())


@routes.get("/{webhook}")
async def show_webhook(caller: AuthorizedClient, webhook: Name) -> Webhook:
    """Show a webhook. Its secret is not shown."""
    found = await caller.asend(webhook_calls.webhooks(webhook))
    if not found:
        raise NotFound(f"there is no webhook {webhook!r}")
    return found[0]


@routes.put("/{webhook}")
async def set_webhook(caller: AuthorizedClient, webhook: Name, body: WebhookBody) -> Webhook:
    """Create a webhook, or replace its URL and filters. Only the answer for a new one has its
    secret."""
    return await caller.asend(webhook_calls.set_webhook(webhook, body.url, body.events, body.tasks))


@routes.delete("/{webhook}", returns=Dropped)
async def delete_webhook(caller: AuthorizedClient, webhook: Name) -> dict[str, str]:
    """Delete a webhook and its deliveries."""
    return await caller.asend(webhook_calls.drop_webhook(webhook))


@routes.post("/{webhook}/rotate")
async def rotate_webhook(caller: AuthorizedClient, webhook: Name, body: RotationBody) -> Webhook:
    """Give a webhook a new secret. The former one signs as well for a time."""
    keep = read_duration("keep", body.keep)
    assert keep is not None
    return await caller.asend(webhook_calls.rotate_webhook(webhook, keep))


@routes.post("/{webhook}/test", status=202, errors=(409,))
async def test_webhook(caller: AuthorizedClient, webhook: Name, body: Body) -> Delivery:  # noqa: ARG001
    """Send a test event; the list of deliveries tells what came of it."""
    return await caller.asend(webhook_calls.test_webhook(webhook))


@routes.get("/{webhook}/deliveries")
async def list_deliveries(
    caller: AuthorizedClient, webhook: Name, below: Below = None, limit: Limit = 50
) -> tuple[Delivery, ...]:
    """List the deliveries of a webhook, newest first."""
    return await caller.asend(webhook_calls.deliveries(webhook, below=below, n=limit))


@routes.post("/{webhook}/redeliver", returns=Redelivered, errors=(409,))
async def redeliver(
    caller: AuthorizedClient, webhook: Name, body: RedeliveryBody
) -> dict[str, int]:
    """Deliver again: one delivery, or all that were not delivered."""
    return await caller.asend(webhook_calls.redeliver(webhook, body.delivery))
