"""Labels with a bound: whoever enqueues names queues, and each name would be a series for ever."""

from tenure.observe.series import MOST_VALUES, OTHER


class Bounded:
    """The first so many values of a label as they are, and "other" for the rest."""

    def __init__(self, most: int = MOST_VALUES) -> None:
        self._most = most
        self._known: set[str] = set()

    def __call__(self, value: str) -> str:
        if value in self._known:
            return value
        if len(self._known) >= self._most:
            return OTHER
        self._known.add(value)
        return value
