"""Tests of webhooks that wait for what comes of them."""

import time

from tenure.control.operation import Delay, Operation
from tenure.store.calls import webhook_calls
from tenure.store.webhook_results import Delivery

PATIENCE = 30.0  # seconds that a test waits for a worker and the receiver
_PAUSE = 0.2


def test(name: str) -> Operation[Delivery]:
    """Send a webhook a test event, and return the delivery when it was tried, or after 30 s."""
    until = time.monotonic() + PATIENCE
    delivery: Delivery = yield webhook_calls.test_webhook(name)
    while delivery.delivered_at is None and delivery.error is None and time.monotonic() < until:
        yield Delay(_PAUSE)
        [delivery] = yield webhook_calls.deliveries(name, below=delivery.id + 1, n=1)
    return delivery
