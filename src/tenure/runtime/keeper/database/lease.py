"""Until when a worker may rely on its lease."""

import asyncio

from tenure.config import Settings
from tenure.runtime.guard.guard_state import boottime
from tenure.runtime.guarding import Guard


class Lease:
    """``LeaseRenewal`` keeps it; everybody else asks whether it holds, or wakes the renewal."""

    def __init__(self, guard: Guard, settings: Settings) -> None:
        self._guard = guard
        self._length = settings.lease.total_seconds()
        self._margin = min(max(0.25, self._length / 10), 2.0)  # to freeze a process tree in
        self.trusted_until = 0.0
        self.wake = asyncio.Event()
        self.is_in_doubt = False

    @property
    def is_current(self) -> bool:
        return boottime() < self.trusted_until

    @property
    def is_trusted(self) -> bool:
        """True if jobs may run: it is current, and the guard has not frozen them."""
        return self.is_current and not self._guard.is_frozen

    def trust_from(self, asked_at: float) -> None:
        """Count from the moment at which the call was sent that registered or renewed it."""
        self.trusted_until = asked_at + self._length - self._margin
        self._guard.trust_until(self.trusted_until)

    def check_now(self) -> None:
        """Renew before the next beat: the lease may be lost."""
        self.is_in_doubt = True
        self.wake.set()

    def read_signals_now(self) -> None:
        """Read signals before the next beat."""
        self.wake.set()
