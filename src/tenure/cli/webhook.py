"""``tenure webhook``: signed requests to endpoints when jobs end, pause or ask."""

from typing import Annotated

import typer

from tenure.cli.connection import Connection, action
from tenure.cli.options import Below, Limit, argument, option
from tenure.cli.output import ago, exact_time
from tenure.cli.parsing import length, whole
from tenure.cli.program import group
from tenure.control import webhooks
from tenure.domain.values import amount
from tenure.domain.webhook import EVENTS
from tenure.store.calls import webhook_calls
from tenure.store.webhook_results import Delivery, Webhook

commands = group("webhook")

_EVENTS = ", ".join(EVENTS)
Name = Annotated[str, typer.Argument(metavar="WEBHOOK", help="Name of a webhook.")]


@action(
    commands,
    "create",
    "tenure webhook create ci https://ci.example.org/hooks --event job.failed",
    "tenure webhook create desk https://example.org/in --task review",
    may_create=True,
)
def create(
    to: Connection,
    webhook: Name,
    endpoint: str = argument("URL", "Where the requests go: https://..."),
    event: list[str] | None = option(
        "EVENT",
        f"Only this event: {_EVENTS}. Repeatable.",
    ),
    task: list[str] | None = option("TASK", "Only jobs of this task. Repeatable."),
) -> None:
    """Create a webhook, or replace its URL and filters. The secret of a new one is shown once."""
    _answer(to, to.send(webhook_calls.set_webhook(webhook, endpoint, event or None, task or None)))


@action(commands, "list", "tenure webhook list", "tenure webhook list --json")
def list_webhooks(to: Connection) -> None:
    """List webhooks. Secrets are not shown."""
    to.out.answer_table(
        to.send(webhook_calls.webhooks()),
        ("webhook", "url", "events", "tasks", "pending", "state"),
        lambda webhook: (
            webhook.name,
            webhook.url,
            _filter(webhook.events),
            _filter(webhook.tasks),
            webhook.pending,
            _state(webhook),
        ),
        "no webhooks",
    )


@action(commands, "rotate", "tenure webhook rotate ci --keep 24h")
def rotate(
    to: Connection,
    webhook: Name,
    keep: str = option("DURATION", "How long the former secret signs as well.", default="24h"),
) -> None:
    """Give a webhook a new secret, which is shown once."""
    _answer(to, to.send(webhook_calls.rotate_webhook(webhook, length(keep, "--keep"))))


@action(commands, "test", "tenure webhook test ci")
def test(to: Connection, webhook: Name) -> None:
    """Send a test event and wait until it was tried. Exit code 1: it was not delivered."""
    tried = to.perform(webhooks.test(webhook))
    to.out.answer(tried, f"Delivery {tried.id} to {webhook}: {_outcome(tried)}.")
    if tried.state != "delivered":
        raise typer.Exit(1)


@action(
    commands, "deliveries", "tenure webhook deliveries ci", "tenure webhook deliveries ci --json"
)
def deliveries(to: Connection, webhook: Name, below: Below = None, limit: Limit = 20) -> None:
    """List the deliveries of a webhook, newest first."""
    found = to.send(webhook_calls.deliveries(webhook, below=below, n=limit))
    to.out.answer_table(
        found,
        ("delivery", "event", "job", "at", "tries", "outcome"),
        lambda each: (
            each.id,
            each.event,
            each.job_id,
            ago(each.created_at),
            each.attempts,
            _outcome(each),
        ),
        "no deliveries",
    )
    to.out.next_page(found, limit)


@action(commands, "redeliver", "tenure webhook redeliver ci", "tenure webhook redeliver ci 42")
def redeliver(
    to: Connection,
    webhook: Name,
    delivery: str | None = argument("ID", "Id of a delivery (default: all that failed).", None),
) -> None:
    """Deliver again: one delivery, or all that were not delivered."""
    number = None if delivery is None else whole(delivery, "a delivery")
    answer = to.send(webhook_calls.redeliver(webhook, number))
    deliveries = amount(answer["deliveries"], "delivery", "deliveries")
    to.out.answer(answer, f"{deliveries} to {webhook} will be tried again.")


@action(commands, "delete", "tenure webhook delete ci")
def delete(to: Connection, webhook: Name) -> None:
    """Delete a webhook and its deliveries."""
    to.out.answer(to.send(webhook_calls.drop_webhook(webhook)), f"Webhook {webhook} is deleted.")


def _answer(to: Connection, webhook: Webhook) -> None:
    events = "all events" if webhook.events is None else _filter(webhook.events)
    about = f"Webhook {webhook.name}: {events} to {webhook.url}."
    if webhook.new_secret is not None:
        about += (
            f"\nThe secret is shown only once; give it to the receiver:\n\n  {webhook.new_secret}"
        )
    to.out.answer(webhook, about)


def _filter(names: tuple[str, ...] | None) -> str:
    return "all" if names is None else ", ".join(names)


def _state(webhook: Webhook) -> str:
    if webhook.disabled is not None:
        return f"disabled: {webhook.disabled}"
    return (
        "works"
        if webhook.failing_since is None
        else f"failing since {exact_time(webhook.failing_since)}"
    )


def _outcome(delivery: Delivery) -> str:
    if delivery.state == "delivered":
        return f"delivered ({delivery.status})"
    words = {"pending": "not delivered yet", "given_up": "given up"}[delivery.state]
    return f"{words}: {delivery.error}" if delivery.error else words
