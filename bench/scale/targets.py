"""More targets, each with a line of jobs that run one after the other."""

from collections.abc import Iterator

from bench.figures import console
from bench.scale.curves import Curve, points
from bench.scale.draining import drain
from bench.scale.sizes import Scale
from tenure.domain.job import NewJob

_CALL = 1_000


def grow_targets(scale: Scale) -> Iterator[Curve]:
    rates = []
    for n in scale.targets:
        console.print(f"{n:,} targets")
        rates.append((n, drain(scale, _lines(scale, n))))
    yield Curve("jobs of serial targets", "targets", "jobs/s", {"one worker": points(rates)})


def _lines(scale: Scale, n: int) -> Iterator[list[NewJob]]:
    jobs = min(scale.of_targets, n * scale.of_one_target)
    drafts = [
        NewJob(task="noop", args={"n": number}, target=f"target-{number % n}")
        for number in range(jobs)
    ]
    for start in range(0, jobs, _CALL):
        yield drafts[start : start + _CALL]
