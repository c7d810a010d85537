"""Plain functions that take longer and longer: how much of its time a process runs them."""

from collections.abc import Iterator

from bench.running import PROCESSES, efficiency
from bench.scale.curves import Curve, points
from bench.scale.sizes import Scale


def lengthen_functions(scale: Scale) -> Iterator[Curve]:
    parts = [(ms, efficiency(scale.bench, ms)) for ms in scale.functions]
    series = {f"{PROCESSES} processes": points(parts)}
    yield Curve("efficiency of functions", "milliseconds", "of the time", series)
