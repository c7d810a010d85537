"""As many jobs in fewer and larger families: tasks of one job, or jobs before another."""

from collections.abc import Callable, Iterator, Mapping

from bench.figures import console
from bench.scale.curves import Curve, points
from bench.scale.draining import drain
from bench.scale.sizes import Scale
from tenure.domain.job import NewJob


def grow_families(scale: Scale) -> Iterator[Curve]:
    series = {}
    for name, family in _FAMILIES.items():
        rates = []
        for n in scale.families:
            console.print(f"{name}: {n:,}")
            calls = [family(n)] * (scale.of_families // n)
            rates.append((n, drain(scale, calls)))
        series[name] = points(rates)
    yield Curve("jobs of large families", "jobs in one", "jobs/s", series)


def _tasks_of_one(n: int) -> list[NewJob]:
    tasks = [NewJob(task="noop", args={"n": number}, parent="all") for number in range(n)]
    return [NewJob(task=None, key="all"), *tasks]


def _before_another(n: int) -> list[NewJob]:
    keys = [str(number) for number in range(n)]
    needed = [NewJob(task="noop", args={"n": number}, key=key) for number, key in enumerate(keys)]
    return [*needed, NewJob(task="noop", args={"n": n}, after=keys)]


_FAMILIES: Mapping[str, Callable[[int], list[NewJob]]] = {
    "tasks of one job": _tasks_of_one,
    "jobs before another": _before_another,
}
