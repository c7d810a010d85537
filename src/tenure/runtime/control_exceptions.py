"""What the code of a job may raise to say how it wants to end."""

import asyncio
from datetime import timedelta

from tenure.domain.duration import duration
from tenure.domain.values import message_text

_MOST_REASON = 20_000  # characters; the rest is cut off


class Interrupted(asyncio.CancelledError):
    """A stop reached this code. Clean up and let it pass."""


class ControlException(Exception):
    """Raised by a job that wants to end in another way than by returning or failing."""


class Snooze(ControlException):
    """Go on later; the attempt is not spent."""

    def __init__(self, delay: timedelta | str | int | float) -> None:
        self.delay = duration(delay)
        super().__init__(f"snoozed for {self.delay}")


class Discard(ControlException):
    """Fail at once: no other attempt would do better."""

    def __init__(self, reason: str) -> None:
        self.reason = message_text(reason, "the reason of a Discard")[:_MOST_REASON]
        super().__init__(self.reason)


class Pause(ControlException):
    """Wait, paused, until somebody resumes it."""

    def __init__(self, reason: str) -> None:
        self.reason = message_text(reason, "the reason of a Pause")[:_MOST_REASON]
        super().__init__(self.reason)


class WaitsForChildren(BaseException):
    """Give the slot back until the children have ended, then start again from the checkpoint."""
