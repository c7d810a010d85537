"""Many who watch one busy job: how soon they are told, and what that costs a worker beside them."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import Event, Thread
from uuid import UUID, uuid4

from bench.api_served import served
from bench.figures import Figure, console, figure
from bench.page_viewers import Viewers
from bench.quantiles import quantile
from bench.running import drain_round
from bench.sessions import viewer_session
from bench.working import Bench
from tenure.control.client import Client
from tenure.control.polling import event_id
from tenure.domain.job import NewJob
from tenure.store.outcomes import Report
from tenure.store.results import Claimed
from tenure.store.store import Store

VIEWERS = 200
FEW = 20  # to try it out
OF_ONE = 10  # viewers of one principal; more than 20 are not let in
MOVES_EVERY = 0.5  # seconds
SOON = 1.0  # seconds within which 99 of 100 are told
SLOWED = 0.9  # of the speed without viewers
_QUEUE = "watched"


def watch_a_job(bench: Bench) -> Iterator[Figure]:
    """Rounds with and without viewers take turns, each on a fresh database."""
    jobs, rounds = bench.amounts.jobs, bench.amounts.rounds
    viewers = VIEWERS if rounds > 1 else FEW
    alone: list[float] = []
    beside: list[float] = []
    latencies: list[float] = []
    looks = 0
    for number in range(rounds):
        console.print(f"{viewers} viewers, round {number + 1} of {rounds}")
        alone.append(drain_round(bench, bench.server.database(), jobs, "noop").rate)
        scene = _Scene(viewers)
        one = drain_round(bench, bench.server.database(), jobs, "noop", scene.viewed)
        beside.append(one.rate)
        latencies += scene.latencies
        looks += scene.looks
    about = f"{viewers} viewers of one job"
    yield figure(f"{about}: it moves to they are told, p50", quantile(latencies, 0.5), "s")
    yield figure(
        f"{about}: it moves to they are told, p99", quantile(latencies, 0.99), "s", at_most=SOON
    )
    yield figure(f"{about}: looks at the page", looks / rounds, "in a round")
    reference = figure(f"no-op coroutines: {jobs:,} jobs, nobody looks", alone, "jobs/s")
    yield reference
    yield figure(
        f"no-op coroutines: {jobs:,} jobs, beside {viewers} viewers",
        beside,
        "jobs/s",
        against=reference,
        at_least=SLOWED,
    )


class _Scene:
    """A server, a job that moves, and those who watch it."""

    def __init__(self, viewers: int) -> None:
        self._viewers = viewers
        self._moved: dict[str, float] = {}  # when, by the id of the event that tells it
        self.latencies: list[float] = []
        self.looks = 0

    @contextmanager
    def viewed(self, url: str) -> Iterator[None]:
        with Client(url) as client, served("ours", url) as place:
            secrets = [
                viewer_session(client, f"viewer-{n}") for n in range(-(-self._viewers // OF_ONE))
            ]
            worker, claimed = _running(client.store)
            path = f"/jobs/{claimed.id}"
            with (
                Viewers(place, path, secrets, self._viewers) as viewers,
                self._moving(client.store, worker, claimed),
            ):
                yield
                self._see_out(viewers)
            self.latencies = list(self._latencies(viewers))
            self.looks = viewers.looks

    @contextmanager
    def _moving(self, store: Store, worker: UUID, claimed: Claimed) -> Iterator[None]:
        over = Event()

        def move() -> None:
            step = 0
            while not over.wait(MOVES_EVERY):
                step += 1
                told = {"done": step, "total": 100_000, "message": f"step {step}"}
                began = time.monotonic()
                store.report(worker, [Report(job=claimed.id, token=claimed.token, progress=told)])
                self._moved[event_id(store.show(claimed.id))] = began

        moving = Thread(target=move)
        moving.start()
        try:
            yield
        finally:
            over.set()
            moving.join()

    def _see_out(self, viewers: Viewers) -> None:
        """At least some moves, however short the round was."""
        until = time.monotonic() + 60
        while len(self._moved) < 10 or time.monotonic() - max(self._moved.values()) < 0.1:
            if time.monotonic() > until:
                raise RuntimeError("the job did not move")
            viewers.check()
            time.sleep(0.01)

    def _latencies(self, viewers: Viewers) -> Iterator[float]:
        """Of each move for each viewer; who was told only of a later one was told with that."""
        moves = sorted(self._moved.items(), key=lambda move: move[1])
        for told in viewers.told:
            for number, (_, moved_at) in enumerate(moves[:-4]):  # the last ones may be under way
                after = [told[name] for name, _ in moves[number:] if name in told]
                yield min(after, default=float("inf")) - moved_at


def _running(store: Store) -> tuple[UUID, Claimed]:
    """A job that a worker holds which is only said to be one."""
    worker = uuid4()
    store.register(worker, "bench", 1, timedelta(hours=1), queues=[_QUEUE])
    store.enqueue([NewJob(task="watched", queue=_QUEUE)])
    [claimed] = store.claim(worker, 1, queues=[_QUEUE]).jobs
    return worker, claimed
