"""``tenure job cancel --where``: many jobs at once, counted first."""

from collections.abc import Mapping, Sequence
from typing import Any

from tenure.cli.connecting import Connection


def cancel_many(
    to: Connection, where: Sequence[str], how: Mapping[str, Any], *, yes: bool, wait: bool
) -> None:
    raise NotImplementedError
