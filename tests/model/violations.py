"""How a broken invariant is reported."""

from functools import cache


class Violation(AssertionError):
    """An invariant does not hold."""


@cache
def kind(invariant: str) -> type[Violation]:
    """Hypothesis tells failures apart by their types, and shrinks each for itself."""
    return type(f"Violation_{invariant}", (Violation,), {})


def require(holds: bool, invariant: str, sentence: str) -> None:
    if not holds:
        raise kind(invariant)(f"{invariant}: {sentence}")
