"""From where the next claim starts."""

_AT_LEAST = 1.0  # seconds between two claims from the very beginning
_SHARE = 20.0  # they may take one part in so many of the time


class Floors:
    """How far claims have come, as the last of them said; ``claim.sql`` says why.

    Whoever committed late is below, so once in a while a claim starts from the very beginning.
    While an old snapshot keeps all that was claimed this takes long, and is done less often.
    """

    def __init__(self) -> None:
        self._known: str | None = None
        self.until = 0.0  # when a claim from the very beginning is due

    def at(self, moment: float) -> str | None:
        """From where a claim of this moment starts; nothing means the very beginning."""
        if moment >= self.until:
            self._known, self.until = None, moment + _AT_LEAST
        return self._known

    def reached(self, floors: str, since: str | None, began: float, moment: float) -> None:
        """By a claim that started from there at that time, and has been answered now."""
        self._known = floors
        if since is None:
            self.until = max(self.until, moment + (moment - began) * _SHARE)

    def forget(self) -> None:
        """Something was given back, and is below."""
        self._known = None
