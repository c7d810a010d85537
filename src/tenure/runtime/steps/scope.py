"""The step in which code runs: it gets the partial results, the spending and the names below it."""

from collections.abc import Mapping
from contextvars import ContextVar


class Scope:
    """One run of a step; the root, without a name, is the job itself."""

    def __init__(self, name: str = "", above: "Scope | None" = None) -> None:
        self.name = name
        self.has_emitted = False
        self.spent: dict[str, float] = {}
        self._above = above
        self._turns: dict[str, int] = {}

    def take_name(self, name: str) -> str:
        """Return "read" for the first call of that name, "read#2" for the second."""
        turn = self._turns[name] = self._turns.get(name, 0) + 1
        path = f"{self.name}/{name}" if self.name else name
        return path if turn == 1 else f"{path}#{turn}"

    def count(self, spent: Mapping[str, float]) -> None:
        for unit, amount in spent.items():
            self.spent[unit] = self.spent.get(unit, 0) + amount
        if self._above is not None:
            self._above.count(spent)


current_scope: ContextVar[Scope | None] = ContextVar("tenure_step", default=None)


def current_step_name() -> str:
    """Return the name of the step that emits a partial result now; empty outside of steps."""
    scope = current_scope.get()
    if scope is None:
        return ""
    scope.has_emitted = True
    return scope.name


def count_spending(spent: Mapping[str, float]) -> None:
    """Count what is spent for the steps in which the calling code runs."""
    scope = current_scope.get()
    if scope is not None:
        scope.count(spent)
