"""An old snapshot: what nobody may clean up while it lasts, and how much slower that makes it."""

from collections.abc import Iterator

from bench.exchanging import Run, long_run
from bench.figures import console
from bench.scale.curves import Curve, points
from bench.scale.sizes import Scale


def pin_a_snapshot(scale: Scale) -> Iterator[Curve]:
    console.print(f"{scale.pinned:g} s without an old snapshot, then as long with one")
    free = long_run(scale.bench.server, scale.pinned, 0, pinned=False)
    pinned = long_run(scale.bench.server, scale.pinned, 0, pinned=True)
    yield Curve(
        "claim and finish under an old snapshot",
        "seconds",
        "jobs/s",
        {"none": points(_windows(free, scale)), "pinned": points(_windows(pinned, scale))},
        of_sizes=False,
    )


def _windows(run: Run, scale: Scale) -> list[tuple[float, float]]:
    """Jobs per second in each window of time."""
    found: list[tuple[float, float]] = []
    since, before = 0.0, 0
    for second, done in run.marks:
        if second - since >= scale.window:
            found.append((round(second), (done - before) / (second - since)))
            since, before = second, done
    return found
