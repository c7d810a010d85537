"""Pauses between tries: each up to twice as long as the one before, with jitter."""

import random

FIRST = 0.05
LONGEST = 2.0


class Backoff:
    def __init__(self, first: float = FIRST, longest: float = LONGEST) -> None:
        self._first = first
        self._longest = longest
        self._tries = 0

    def next(self) -> float:
        """Return the seconds to wait before the next try."""
        pause = min(self._first * 2.0**self._tries, self._longest)
        self._tries += 1
        return pause * (0.5 + random.random() / 2)  # noqa: S311

    def reset(self) -> None:
        self._tries = 0
