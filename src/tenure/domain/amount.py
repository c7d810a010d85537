"""Numbers of things, as people say them."""


def amount(n: int, one: str, many: str | None = None) -> str:
    """``1 job``, ``2,000 jobs``; what is many of it only where it is not one with an s."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"
