"""Many scenarios at once in one worker: each has a tenant, runners and neighbours of its own."""

import itertools
import queue
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import psycopg

from tenure.control.handle import Handle
from tenure.domain.job import Job
from tenure.domain.lifecycle import State
from tenure.domain.tenant import Tenant
from tenure.store.store import Store
from tests.apps.hostile import app as tasks
from tests.apps.hostile.kinds import Executor
from tests.hostile.scenario import Evidence, Scenario, Traces
from tests.workers import RunningWorker, eventually, running_worker

LANES = [f"lane{number}" for number in range(1, 7)]  # tenants
NEIGHBOURS = 2
ENDED = (State.COMPLETED, State.FAILED, State.CANCELLED)
GRACE = "1s"
WITHIN = 20.0  # seconds for a stop or an end: generous, for a busy machine
SETTINGS = {"TENURE_LEASE": "30s", "TENURE_BEAT": "500ms", "TENURE_POLL": "500ms"}

_numbers = itertools.count(1)


class Lane:
    """A tenant of the worker, in which one scenario runs at a time."""

    def __init__(self, url: str, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder
        self.store = Store(url, Tenant(name))

    def enqueue(self, task: Any, **arguments: Any) -> Handle[Any]:
        handle: Handle[Any] = task.using(tenant=self.name).enqueue(**arguments)
        return handle

    def show(self, handle: Handle[Any]) -> Job:
        return self.store.show(handle.id)

    def ends(self, handle: Handle[Any], within: float = WITHIN) -> Job | None:
        """Return the job once it has ended, or None if it does not."""

        def look() -> Job | None:
            job = self.show(handle)
            return job if job.state in ENDED else None

        return patiently(look, within)

    def begins(self, handle: Handle[Any], gate: str) -> int:
        """Return how often the code of a neighbour has begun."""
        path = self.folder / f"began-{gate}-{handle.id}"
        return len(path.read_text().splitlines()) if path.exists() else 0

    def lines(self, handle: Handle[Any]) -> list[str]:
        """Return the job's log."""
        return [str(line["line"]) for line in self.store.kept(handle.id, "logs")]


def patiently(look: Callable[[], Any], within: float) -> Any:
    """Return what is looked for as soon as it is there, or None."""
    try:
        return eventually(look, within=within)
    except AssertionError:
        return None


class Arena:
    def __init__(self, url: str, folder: Path, worker: RunningWorker) -> None:
        self.folder = folder
        self.worker = worker
        self._lanes: queue.SimpleQueue[Lane] = queue.SimpleQueue()
        self._numbers: list[int] = []
        for name in LANES:
            self._lanes.put(Lane(url, name, folder))

    def run_all(self, scenarios: Sequence[Scenario]) -> Mapping[str, Evidence]:
        with ThreadPoolExecutor(len(LANES)) as pool:
            return dict(zip(map(str, scenarios), pool.map(self._run, scenarios), strict=True))

    def _run(self, scenario: Scenario) -> Evidence:
        evidence = Evidence()
        lane = self._lanes.get()
        try:
            number = next(_numbers)
            self._numbers.append(number)
            play(lane, scenario, number, evidence)
        except Exception:  # noqa: BLE001 - one scenario that cannot be played spoils no other
            evidence.broken.append(traceback.format_exc())
        finally:
            self._lanes.put(lane)
        return evidence

    def clean_up(self) -> None:
        """Kill what the scenarios recorded and the worker did not end."""
        for number in self._numbers:
            for pid in Traces(self.folder, number).pids():
                try:
                    process = psutil.Process(pid)
                    if process.cmdline() and process.pid > 1:
                        process.kill()
                except psutil.Error:
                    continue


TASKS: Mapping[Executor, tuple[Any, Any]] = {
    "async": (tasks.coroutine, tasks.neighbour),
    "thread": (tasks.thread, tasks.thread_neighbour),
    "process": (tasks.process, tasks.neighbour),
    "command": (tasks.command, tasks.neighbour),
}


def play(lane: Lane, scenario: Scenario, number: int, evidence: Evidence) -> None:
    """Run one scenario beside its neighbours, and note what does not hold."""
    task, neighbour = TASKS[scenario.executor]
    gate = f"gate-{number}"
    traces = Traces(lane.folder, number)
    neighbours = [lane.enqueue(neighbour, gate=gate) for _ in range(NEIGHBOURS)]
    try:
        for one in neighbours:
            evidence.claim(
                bool(patiently(lambda: lane.begins(one, gate), WITHIN)),  # noqa: B023
                "a neighbour does not begin",
            )
        place = {"folder": str(lane.folder)} if scenario.executor == "command" else {}
        stays: Any = scenario.way != "completes"
        if scenario.executor == "command":
            stays = str(stays)
        handle = lane.enqueue(task, number=number, kind=scenario.kind.name, stays=stays, **place)
        if scenario.way == "completes":
            _completes(lane, scenario, handle, traces, evidence)
        else:
            _is_stopped(lane, scenario, handle, traces, evidence)
    finally:
        (lane.folder / gate).touch()
    _neighbours_finish(lane, scenario, neighbours, gate, evidence)


def _is_stopped(
    lane: Lane, scenario: Scenario, handle: Handle[Any], traces: Traces, evidence: Evidence
) -> None:
    if not patiently(lambda: traces.is_ready, WITHIN):
        evidence.broken.append(f"it never ran: {lane.show(handle)}")
        return
    if scenario.way == "forced":
        handle.cancel(reason="enough", force=True)
    else:
        handle.cancel(reason="enough", grace=GRACE)
    job = lane.ends(handle)
    if job is None:
        evidence.broken.append(f"it is not cancelled within {WITHIN} s")
        return
    living = traces.living()
    evidence.claim(job.state is State.CANCELLED, f"it became {job.state}: {job.error_message}")
    evidence.claim(not living, f"alive after cancelled_at: {living}")
    if scenario.kind.beats:
        evidence.claim(bool(traces.beats()), "it left no beat")
    evidence.claim(not traces.grows(), "it still writes after cancelled_at")
    if job.cancelled_at is not None:
        late = traces.later_than(job.cancelled_at)
        evidence.claim(not late, f"{len(late)} beats after cancelled_at, by up to {max(late, default=0)} ms")
    evidence.claim(not traces.living(), f"alive {traces.living()} half a second later")


def _completes(
    lane: Lane, scenario: Scenario, handle: Handle[Any], traces: Traces, evidence: Evidence
) -> None:
    job = lane.ends(handle)
    if job is None:
        evidence.broken.append(f"it does not end within {WITHIN} s")
        return
    evidence.claim(job.state is State.COMPLETED, f"it became {job.state}: {job.error_message}")
    evidence.log = lane.lines(handle)
    if scenario.executor in ("process", "command"):
        gone = patiently(lambda: not traces.living() and not traces.grows(), WITHIN)
        evidence.claim(bool(gone), f"never gone: {traces.living()}")
    elif scenario.kind.group == "processes" and scenario.kind.attributed:
        evidence.claim(not traces.living(), f"alive after completed_at: {traces.living()}")


def _neighbours_finish(
    lane: Lane,
    scenario: Scenario,
    neighbours: Sequence[Handle[Any]],
    gate: str,
    evidence: Evidence,
) -> None:
    apart = scenario.executor in ("process", "command")
    spared = apart or scenario.way == "completes" or scenario.kind.attributed
    for one in neighbours:
        job = lane.ends(one) or lane.show(one)
        evidence.claim(
            job.state is State.COMPLETED, f"a neighbour is {job.state}: {job.error_message}"
        )
        evidence.claim(
            (job.attempt, job.crashes) == (1, 0),
            f"a neighbour is charged: attempt {job.attempt}, crashes {job.crashes}",
        )
        began = lane.begins(one, gate)
        most = 1 if spared else 2
        evidence.claim(began <= most, f"a neighbour began {began} times, at most {most} is right")


def make_lanes(url: str) -> None:
    from tenure.store.migrating import Migrator

    for name in LANES:
        Migrator(url).migrate(Tenant(name))


@contextmanager
def opened(url: str, folder: Path, *options: str, **settings: str) -> Iterator[Arena]:
    """A worker for all lanes of this database, and nothing of it afterwards."""
    before, tasks.app._url = tasks.app._url, url
    try:
        with running_worker(
            url,
            folder,
            "--all-tenants",
            "--processes",
            str(2 * len(LANES)),
            *options,
            app="tests.apps.hostile.app:app",
            settings={**SETTINGS, **settings},
        ) as worker:
            arena = Arena(url, folder, worker)
            try:
                yield arena
            finally:
                arena.clean_up()
    finally:
        tasks.app.close()
        tasks.app._url = before


def fresh_database(server: str, template: str, name: str) -> str:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}".encode())
    return server.replace("/tenure?", f"/{name}?")
