"""The pages of webhooks: what they are told, and what became of it."""

from starlette.requests import Request
from starlette.responses import Response

from tenure.domain.options import read_duration
from tenure.domain.webhook import EVENTS
from tenure.errors import InputRefused, NotFound
from tenure.store.calls import webhook_calls
from tenure.store.webhook_results import Webhook
from tenure.web.authentication import caller_of
from tenure.web.dashboard.form import form_of
from tenure.web.dashboard.jobs import PAGE_SIZE, read_below
from tenure.web.dashboard.rendering import render

FORMER_SIGNS = "24h"


async def list_webhooks(request: Request, made: Webhook | None = None) -> Response:
    found = await caller_of(request).asend(webhook_calls.webhooks())
    return render(request, "webhooks.html", webhooks=found, events=EVENTS, made=made)


async def show_webhook(request: Request) -> Response:
    """Show a webhook and its deliveries, newest first."""
    caller, name = caller_of(request), request.path_params["webhook"]
    found = await caller.asend(webhook_calls.webhooks(name))
    if not found:
        raise NotFound(f"there is no webhook {name!r}")
    below = read_below(request)
    deliveries = await caller.asend(webhook_calls.deliveries(name, below=below, n=PAGE_SIZE + 1))
    rows = deliveries[:PAGE_SIZE]
    return render(
        request,
        "webhook.html",
        webhook=found[0],
        deliveries=rows,
        former_signs=FORMER_SIGNS,
        below=below,
        following=rows[-1].id if len(deliveries) > PAGE_SIZE else None,
        every=2,
    )


async def set_webhook(request: Request) -> Response:
    """Create or replace a webhook. Only this page contains its secret, so there is no redirect."""
    form = form_of(request)
    call = webhook_calls.set_webhook(
        form.name, form.required("url"), form.getlist("event") or None, form.names("tasks") or None
    )
    made = await caller_of(request).asend(call)
    return await list_webhooks(request, made)


async def rotate_webhook(request: Request) -> Response:
    """Show the new secret. Only this page contains it, so there is no redirect."""
    form = form_of(request)
    keep = read_duration("keep", form.get("keep", FORMER_SIGNS))
    if keep is None:
        raise InputRefused("keep: must be a duration such as 24h")
    made = await caller_of(request).asend(webhook_calls.rotate_webhook(form.name, keep))
    return await list_webhooks(request, made)
