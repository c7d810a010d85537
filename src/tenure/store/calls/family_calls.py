"""Verbs that read a job with its output and those around it, as its page shows them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

from tenure.store.family_results import Dependencies, Family
from tenure.store.verb import Int4, verb


@verb(safe=True)
def family(
    job: int,
    *,
    after: int = 0,
    n: Int4 = 50,
    state: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> Family: ...


@verb(safe=True)
def dependencies(job: int, n: Int4 = 30) -> Dependencies: ...


@verb(safe=True)
def newest_output(
    job: int,
    kind: Literal["partials", "logs", "steps"],
    *,
    below: int | None = None,
    n: Int4 = 50,
    levels: Sequence[str] | None = None,
    text: str | None = None,
) -> tuple[dict[str, Any], ...]: ...
