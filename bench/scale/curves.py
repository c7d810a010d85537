"""A curve: the same thing measured at growing sizes, in one run."""

from collections.abc import Sequence

import msgspec


class Point(msgspec.Struct, frozen=True):
    x: float
    y: float


class Curve(msgspec.Struct, frozen=True):
    """One or more series over the same sizes."""

    name: str
    size: str  # what grows
    unit: str
    series: dict[str, list[Point]]
    of_sizes: bool = True  # which grow tenfold; else over time

    def last(self, series: str) -> float:
        return self.series[series][-1].y


class Run(msgspec.Struct):
    date: str
    machine: str
    server: str
    curves: list[Curve] = msgspec.field(default_factory=list)

    def curve(self, name: str) -> Curve | None:
        return next((curve for curve in self.curves if curve.name == name), None)


def points(measured: Sequence[tuple[float, float]]) -> list[Point]:
    return [Point(float(x), float(y)) for x, y in measured]
