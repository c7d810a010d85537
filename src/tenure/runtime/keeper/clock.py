"""The database's time, as well as it is known here."""

from datetime import UTC, datetime, timedelta

from tenure.runtime.guard.guard_state import boottime


class DatabaseClock:
    """Leases, retries and schedules go by the database's clock; this machine's may be wrong."""

    def __init__(self) -> None:
        self._then = datetime.now(UTC)
        self._at = boottime()

    def learn(self, then: datetime, asked_at: float) -> None:
        """The database said that it was `then` when it was asked at this boottime."""
        self._then, self._at = then, asked_at

    def now(self) -> datetime:
        return self._then + timedelta(seconds=boottime() - self._at)
