"""Exceptions that control how a job ends."""

import asyncio
from datetime import datetime, timedelta

from tenure.domain.duration import duration
from tenure.domain.values import message_text
from tenure.store.outcomes import Until

_MAX_REASON = 20_000  # characters; the rest is cut off


class Interrupted(asyncio.CancelledError):
    """Raised in the code of a job that is stopped. Clean up and let it propagate."""


class ControlException(Exception):
    """Raised by a job that ends in another way than by returning or failing."""


class Snooze(ControlException):
    """Run the job again later; this attempt is not counted."""

    def __init__(self, delay: timedelta | str | int | float) -> None:
        self.delay = duration(delay)
        super().__init__(f"snoozed for {self.delay}")


class Discard(ControlException):
    """Fail without another attempt."""

    def __init__(self, reason: str) -> None:
        self.reason = message_text(reason, "the reason of a Discard")[:_MAX_REASON]
        super().__init__(self.reason)


class Pause(ControlException):
    """Pause the job until it is resumed."""

    def __init__(self, reason: str) -> None:
        self.reason = message_text(reason, "the reason of a Pause")[:_MAX_REASON]
        super().__init__(self.reason)


class Waits(BaseException):
    """Free the slot until something has come or is due, then start the job again."""

    def __init__(self, until: Until, due_at: datetime | None = None) -> None:
        self.until: Until = until
        self.due_at = due_at
        super().__init__(until)
