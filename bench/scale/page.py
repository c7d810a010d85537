"""docs/scale.md: the curves, what they say, and what follows for a hundred million jobs a day."""

from collections.abc import Iterator
from pathlib import Path

from bench.scale.curves import Curve, Run
from bench.scale.drawing import draw, number, size

A_DAY = 100_000_000
_PEAK = 5  # times the mean, in the busiest hour
_BUSY = 0.5  # of a core, at the peak; the rest is for what nobody planned
_KEPT = 7  # days


def write(run: Run, folder: Path) -> None:
    for curve in run.curves:
        (folder / "pictures" / picture(curve)).write_text(draw(curve))
    (folder / "scale.md").write_text(page(run))


def picture(curve: Curve) -> str:
    return f"scale-{'-'.join(curve.name.lower().split())}.svg"


def page(run: Run) -> str:
    curves = "\n\n".join("\n".join(_section(curve)) for curve in run.curves)
    return _PAGE.format(
        date=run.date,
        machine=run.machine,
        server=run.server,
        curves=curves,
        forecast="\n".join(_forecast(run)),
    )


def _section(curve: Curve) -> Iterator[str]:
    yield f"## {curve.name[0].upper()}{curve.name[1:]}"
    yield ""
    if said := _SAID.get(curve.name):
        yield said
        yield ""
    yield f"![{curve.name}](pictures/{picture(curve)})"
    if curve.of_sizes:
        yield ""
        yield from _table(curve)


def _table(curve: Curve) -> Iterator[str]:
    sizes = [point.x for point in next(iter(curve.series.values()))]
    unit = f", {curve.unit}" if curve.unit else ""
    yield f"| {curve.size} | {' | '.join(size(x) for x in sizes)} |"
    yield f"|---|{'---|' * len(sizes)}"
    for name, series in curve.series.items():
        yield f"| {name}{unit} | {' | '.join(number(point.y) for point in series)} |"


def _forecast(run: Run) -> Iterator[str]:
    """Only what follows from the curves that are there."""
    mean = A_DAY / 86_400
    yield f"That is {mean:,.0f} jobs a second on average, and {mean * _PEAK:,.0f} in the peak, if"
    yield f"the busiest hour has {_PEAK} times the mean."
    yield ""
    if cost := run.curve("CPU of PostgreSQL for a job"):
        each = cost.last("PostgreSQL")
        cores = mean * _PEAK * each / 1e6 / _BUSY
        yield f"- **The server**: {each:.0f} us of CPU for each job with the most workers measured."
        yield f"  In the peak that is {cores * _BUSY:.2f} cores; half busy, {cores:.1f}."
    if rates := run.curve("jobs per second"):
        best = max(point.y for point in rates.series["all together"])
        yield f"- **Here**, workers and server on one machine did {best:,.0f}/s: {best / mean:.0f}"
        yield "  times the mean. Jobs that do something need workers on hosts of their own; they"
        yield "  add connections, not work, to the server."
    if disk := run.curve("disk for a finished job"):
        each = disk.last("all")
        total = each * A_DAY * _KEPT / 1e12
        yield f"- **Disk**: {each:.0f} bytes for a finished job with small arguments. Kept for"
        yield f"  {_KEPT} days (`keep_completed`) that is {total:.2f} TB; for one day"
        yield f"  {total / _KEPT:.2f}. Keep them for as long as somebody looks at them."
    if beside := run.curve("claim and finish beside finished jobs"):
        series = beside.series["one connection"]
        ratio, times = series[-1].y / series[0].y, series[-1].x / series[0].x
        yield f"- **The table**: {size(times)} times the jobs in it, {ratio:.2f} times the speed."
        yield f"  Between {size(series[-1].x)} and the {size(A_DAY * _KEPT)} that {_KEPT} days make"
        yield "  nothing is measured; indexes over jobs that have not ended do not grow with them."
    if pinned := run.curve("claim and finish under an old snapshot"):
        free, old = (_mean(pinned, name) for name in ("none", "pinned"))
        yield f"- **Old snapshots** (a dump, a report): {old / free:.2f} times the speed while one"
        yield "  is held."
    yield "- **Beyond one server**: tenants are schemas. Another database takes some of them."


def _mean(curve: Curve, name: str) -> float:
    series = curve.series[name]
    return sum(point.y for point in series) / len(series)


_SAID = {
    "jobs per second": "No-op coroutines; workers and server share the machine, so more workers "
    "are not to make it slower.",
    "efficiency of functions": "Plain functions, each alone in one of two processes: the time for "
    "which they ask, as a part of the time of both processes. They sleep, and a sleep of 1 ms "
    "takes longer; the rest is not counted as work.",
    "pick-up with more tenants": "From the call of enqueue to the first line of the function: in a "
    "tenant whose runner is there, and in one that has had nothing to do (the spare becomes its "
    "runner). The others are idle.",
    "CPU of an idle fleet": "Of one worker for all tenants and its server, while nothing happens.",
    "claim and finish beside finished jobs": "The verbs on one connection, in batches of 100.",
    "claim and finish under an old snapshot": "A transaction began before the first job and stays "
    "open: nothing that was finished meanwhile can be cleaned up.",
    "jobs of serial targets": "Jobs of one target run one after the other; no-op coroutines.",
    "jobs of large families": "Always the same number of no-op coroutines: as tasks of ever fewer "
    "jobs, and with ever more of them before one that waits for all.",
}

_PAGE = """\
# Scale

Made by `make bench-scale` from one run, on {date}, on a machine with {machine}, which workers and
server share. {server}.

What counts is the shape of a curve. For how Tenure compares with others, see
[the comparison](comparison.md).

{curves}

## A hundred million jobs a day

{forecast}
"""
