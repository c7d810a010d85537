"""Define what is measured for each peer, and how."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median

import msgspec

from bench.peers.crowding import SAMPLE
from bench.peers.driving import Driver, Failed
from bench.peers.listing import Kind, Server
from bench.peers.programs.notes import now
from bench.quantiles import quantile

_DRAIN = 180.0  # seconds, at most
_SETTLES = 2.0  # seconds until the memory of a busy worker has settled

_SINGLY, _MANY = "enqueue one by one", "enqueue in bulk"
_DRAIN_BY_ONE, _DRAIN_BY_TWO = "drain, one worker", "drain, two workers"
_FUNCTIONS = "drain, plain functions"
_PICK_UP, _PICK_UP_LATE = "pick-up, p50", "pick-up, p99"
_STOPS: Mapping[Kind, str] = {
    Kind.WAIT: "stop a coroutine",
    Kind.BLOCK: "stop a sleeping function",
    Kind.COMPUTE: "stop a computing function",
}
_IDLE, _NAPPING = "memory, idle", "memory, 1,000 sleeping"
_RECOVERY = "recovery after kill -9"
_CROWDED = "drain beside a million finished and a million waiting"


@dataclass(frozen=True)
class Amounts:
    rounds: int = 3
    singly: int = 1_000
    many: int = 20_000
    share: float = 1.0  # fraction of the peer's jobs to drain
    picked_up: int = 60
    stopped: int = 5
    patience: float = 10.0  # seconds to wait for a stop
    recovery: float = 40.0  # seconds to wait for a recovery
    crowd: int = 1_000_000
    crowded: float = 10.0  # seconds
    naps: int = 1_000


QUICK = Amounts(
    rounds=1,
    singly=100,
    many=1_000,
    share=0.1,
    picked_up=10,
    stopped=2,
    patience=5,
    recovery=30,
    crowd=20_000,
    crowded=3,
)


class Figure(msgspec.Struct, frozen=True):
    """One number of one round; ``value`` is None if it could not be measured (see ``why``)."""

    line: str
    value: float | None
    why: str | None = None


def enqueue(driver: Driver, amounts: Amounts) -> Iterator[Figure]:
    yield Figure(_SINGLY, driver.call("enqueue-singly", amounts.singly))
    n = min(amounts.many, driver.peer.jobs)
    yield Figure(_MANY, driver.call("enqueue-many", "noop", n))


def drain(driver: Driver, amounts: Amounts) -> Iterator[Figure]:
    yield Figure(_DRAIN_BY_ONE, _drained(driver, int(driver.peer.jobs * amounts.share), 1))


def drain_by_two(driver: Driver, amounts: Amounts) -> Iterator[Figure]:
    yield Figure(_DRAIN_BY_TWO, _drained(driver, int(driver.peer.jobs * amounts.share) * 2, 2))


def drain_functions(driver: Driver, amounts: Amounts) -> Iterator[Figure]:
    if not driver.peer.isolation:
        yield Figure(_FUNCTIONS, None, "not measured")
        return
    n = int(driver.peer.functions * amounts.share)
    yield Figure(_FUNCTIONS, _drained(driver, n, 1, "plain"))


def _drained(driver: Driver, n: int, workers: int, job: str = "noop") -> float:
    """Return jobs per second, counted once each worker has run a job."""
    driver.fill(n, job)
    watching = driver.launch("drained", n, _DRAIN)
    driver.until(lambda: driver.notes.first("watching", n), "somebody watched")
    with driver.workers(workers):
        driver.until(
            lambda: len(driver.notes.counted()) == workers,
            "each worker ran a job",
        )
        before, began = sum(driver.notes.counted().values()), now()
        ended: float | None = driver.finish(watching)
    if ended is None:
        raise Failed(f"not drained within {_DRAIN:g} s")
    return (n - before) / (ended - began)


def drain_a_crowd(driver: Driver, amounts: Amounts) -> Iterator[Figure]:
    """Drain for some seconds next to a million finished and a million waiting jobs."""
    if driver.peer.server is not Server.POSTGRESQL:
        yield Figure(_CROWDED, None, "keeps them in memory")
        return
    driver.fill(SAMPLE)
    watching = driver.launch("drained", SAMPLE, _DRAIN)
    with driver.workers():
        driver.finish(watching)
    driver.crowd(amounts.crowd)
    driver.notes.forget()
    with driver.workers():
        driver.until(driver.notes.counted, "a first job ran", _DRAIN)
        before, began = sum(driver.notes.counted().values()), now()
        time.sleep(amounts.crowded)
        ran = sum(driver.notes.counted().values()) - before
        yield Figure(_CROWDED, ran / (now() - began))


def live(driver: Driver, amounts: Amounts) -> Iterator[Figure]:
    """Measure a worker that is idle, runs single jobs, or holds many sleeping ones."""
    with driver.workers() as [worker]:
        driver.warm()
        time.sleep(_SETTLES)
        yield Figure(_IDLE, worker.memory)
        taken: list[float] = driver.call("pick-up", amounts.picked_up)
        yield Figure(_PICK_UP, median(taken) * 1e3)
        yield Figure(_PICK_UP_LATE, quantile(taken, 0.99) * 1e3)
    if not driver.peer.naps:
        yield Figure(_NAPPING, None, "a process or thread each")
        return
    with driver.workers(at_once=amounts.naps) as [worker]:
        driver.call("enqueue-many", "nap", amounts.naps)
        driver.until(
            lambda: sum(driver.notes.counted().values()) >= amounts.naps, "all of them slept"
        )
        time.sleep(_SETTLES)
        yield Figure(_NAPPING, worker.memory)


def stop(driver: Driver, amounts: Amounts) -> Iterator[Figure]:
    for kind in Kind:
        line = _STOPS[kind]
        if kind not in driver.peer.stops:
            yield Figure(line, None, "cannot")
            continue
        with driver.workers():
            driver.warm()
            taken: list[float | None]
            taken = driver.call("stop", kind, amounts.stopped, amounts.patience)
        if None in taken:
            yield Figure(line, None, f"still running after {amounts.patience:g} s")
        else:
            yield Figure(line, median(one for one in taken if one is not None) * 1e3)


def recover(driver: Driver, amounts: Amounts) -> Iterator[Figure]:
    """Kill a worker with all its processes while another one runs."""
    with driver.workers(1) as first:
        driver.warm()
        driver.call("enqueue", "wait", "lost")
        driver.until(lambda: driver.notes.first("entered", "lost"), "it was started")
        with driver.workers(1, after=1):
            time.sleep(5)  # until it is up and both have sent a heartbeat
            killed = now()
            first[0].kill()
            end = killed + amounts.recovery
            while now() < end:
                later = [
                    event.at for event in driver.notes.noted("entered", "lost") if event.at > killed
                ]
                if later:
                    yield Figure(_RECOVERY, later[0] - killed)
                    return
                time.sleep(0.02)
    yield Figure(_RECOVERY, None, f"> {amounts.recovery:g} s")


@dataclass(frozen=True)
class Line:
    """A line of the table."""

    name: str
    unit: str
    bound: str  # what bounds Tenure's figure where a peer's is better
    more_is_better: bool = False


@dataclass(frozen=True)
class Work:
    measure: Callable[[Driver, Amounts], Iterator[Figure]]
    lines: tuple[Line, ...]
    once: bool = False  # it takes a minute with most peers


_ENQUEUED = (
    "A job is checked and committed to disk before the call returns; Redis has it in memory."
)
_DRAINED = "Each batch is claimed under a fence and its end recorded, in one commit to disk."
_MADE_OF = "([what it is made of](decisions/025-latency-of-stops-and-pick-ups.md))"
_PICKED_UP = (
    f"Two commits to disk lie between the call and the function: the job, and its claim {_MADE_OF}."
)
_STOPPED = (
    "Who asked, why and for what is committed before anybody is stopped; others send a signal "
    f"{_MADE_OF}."
)
_WEIGHED = "A worker is a keeper, a guard, a runner for coroutines and a spare: Python four times."
_RECOVERED = (
    "A neighbour takes the lock of the dead one's folder, looks whether all is gone, and says so."
)


def _more(name: str, bound: str) -> Line:
    return Line(name, "jobs/s", bound, more_is_better=True)


WORKS: Mapping[str, Work] = {
    "enqueue": Work(enqueue, (_more(_SINGLY, _ENQUEUED), _more(_MANY, _ENQUEUED))),
    "drain": Work(drain, (_more(_DRAIN_BY_ONE, _DRAINED),)),
    "drain-by-two": Work(drain_by_two, (_more(_DRAIN_BY_TWO, _DRAINED),)),
    "functions": Work(drain_functions, (_more(_FUNCTIONS, _DRAINED),)),
    "live": Work(
        live,
        (
            Line(_PICK_UP, "ms", _PICKED_UP),
            Line(_PICK_UP_LATE, "ms", _PICKED_UP),
            Line(_IDLE, "MB", _WEIGHED),
            Line(_NAPPING, "MB", _WEIGHED),
        ),
    ),
    "stop": Work(stop, tuple(Line(line, "ms", _STOPPED) for line in _STOPS.values())),
    "recovery": Work(recover, (Line(_RECOVERY, "s", _RECOVERED),), once=True),
    "crowd": Work(drain_a_crowd, (_more(_CROWDED, _DRAINED),), once=True),
}
