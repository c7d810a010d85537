"""A figure with its goal, and how it is told."""

import sys
from collections.abc import Sequence
from statistics import median

import msgspec
from rich.console import Console
from rich.table import Table

console = Console(stderr=True, quiet=not sys.stderr.isatty())


class Figure(msgspec.Struct, frozen=True):
    figure: str
    value: float
    unit: str
    against: str | None = None
    ratio: float | None = None
    goal: str | None = None
    met: bool | None = None


def figure(
    name: str,
    values: float | Sequence[float],
    unit: str,
    *,
    against: Figure | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
) -> Figure:
    """A figure from its rounds. The goal is for the ratio if there is one."""
    value = median(values) if isinstance(values, Sequence) else values
    ratio = value / against.value if against else None
    judged = value if ratio is None else ratio
    goal, met = None, None
    if at_least is not None:
        goal, met = f">= {at_least:g}", judged >= at_least
    elif at_most is not None:
        goal, met = f"<= {at_most:g}", judged <= at_most
    return Figure(
        name,
        _rounded(value),
        unit,
        against.figure if against else None,
        None if ratio is None else round(ratio, 3),
        goal,
        met,
    )


def tell(told: Figure) -> None:
    sys.stdout.write(msgspec.json.encode(told).decode() + "\n")
    sys.stdout.flush()


def summary(told: Sequence[Figure]) -> None:
    """All figures as a table, for people."""
    table = Table("figure", "value", "unit", "against", "ratio", "goal", "met")
    for one in told:
        met = "" if one.met is None else ("yes" if one.met else "[red]NO[/red]")
        ratio = "" if one.ratio is None else f"{one.ratio:.2f}"
        value = f"{one.value:,}"
        table.add_row(one.figure, value, one.unit, one.against, ratio, one.goal, met)
    console.print(table)


def _rounded(value: float) -> float:
    return round(value) if value >= 1000 else float(f"{value:.4g}")
