"""Webhooks: the events that they can be limited to."""

EVENTS = (
    *("job.completed", "job.failed", "job.cancelled", "job.paused", "job.question"),
    "stop.closed",
)
