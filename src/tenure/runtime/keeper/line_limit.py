"""A limit on log lines: so many a second are written one by one, the rest is counted.

A worker runs 30,000 short jobs a second; a line for each would cost more than the jobs.
"""

import asyncio
import logging
from collections import Counter

_log = logging.getLogger("tenure.worker")

MOST_LINES = 20  # within a second
WINDOW = 1.0  # seconds


class LineLimit:
    """Counts per kind what was not written, and says so once a second."""

    def __init__(self, most: int = MOST_LINES) -> None:
        self._most = most
        self._left = most
        self._until = 0.0
        self._unwritten: Counter[str] = Counter()

    def room(self, kind: str, wanted: int, now: float) -> int:
        """Return how many lines of this kind may be written; the others are counted."""
        if now >= self._until:
            self.summarize()
            self._left, self._until = self._most, now + WINDOW
        given = min(wanted, self._left)
        self._left -= given
        if wanted > given:
            if not self._unwritten:
                asyncio.get_running_loop().call_later(WINDOW, self.summarize)
            self._unwritten[kind] += wanted - given
        return given

    def summarize(self) -> None:
        """Write what was counted."""
        if self._unwritten:
            counts = ", ".join(f"{n:,} {kind}" for kind, n in self._unwritten.items())
            self._unwritten.clear()
            _log.info("more jobs within a second than are logged one by one: %s", counts)
