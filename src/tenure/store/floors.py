"""The floors from which the next claim starts."""

_AT_LEAST = 1.0  # seconds between two claims from the beginning
_SHARE = 20.0  # such claims may take 1/20 of the time


class Floors:
    """Keep the floors that the last claim returned; ``claim.sql`` explains them.

    A job that was committed late is below its floor, so now and then a claim starts from the
    beginning. An old snapshot makes such claims slow; then they are made less often.
    """

    def __init__(self) -> None:
        self._known: str | None = None
        self.until = 0.0  # when a claim from the beginning is due

    def at(self, moment: float) -> str | None:
        """Return the floors for a claim at this time; None means from the beginning."""
        if moment >= self.until:
            self._known, self.until = None, moment + _AT_LEAST
        return self._known

    def reached(self, floors: str, since: str | None, began: float, moment: float) -> None:
        """Keep the floors of a claim that began at a time from ``since`` and was answered now."""
        self._known = floors
        if since is None:
            self.until = max(self.until, moment + (moment - began) * _SHARE)

    def forget(self) -> None:
        """Start from the beginning: a released job is below its floor."""
        self._known = None
