"""Many scenarios at once in one worker: each has a tenant, runners and neighbours of its own."""

import itertools
import queue
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import psycopg

from tenure.app import Tenure
from tenure.control.handle import Handle
from tenure.domain.job import Job
from tenure.domain.lifecycle import State
from tenure.domain.tenant import Tenant
from tenure.store.migrating import Migrator
from tenure.store.store import Store
from tests.hostile.kernel import kill_if_ours
from tests.hostile.scenario import Evidence, Traces
from tests.workers import RunningWorker, eventually, running_worker

LANES = [f"lane{number}" for number in range(1, 7)]  # tenants
ENDED = (State.COMPLETED, State.FAILED, State.CANCELLED)
GRACE = "1s"
WITHIN = 45.0  # seconds for a stop or an end: generous, for a busy machine
# Nothing here waits for a lease or a poll: let the worker spend its time on jobs.
SETTINGS = {"TENURE_LEASE": "60s", "TENURE_BEAT": "5s", "TENURE_RECOVER_EVERY": "30s"}

T = TypeVar("T")
Play = Callable[["Lane", T, int, Evidence], None]

_numbers = itertools.count(1)


class Lane:
    """A tenant of the worker, in which one scenario runs at a time."""

    def __init__(self, url: str, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder
        self.store = Store(url, Tenant(name))
        self._sql = psycopg.connect(url, autocommit=True)

    def enqueue(self, task: Any, **arguments: Any) -> Handle[Any]:
        handle: Handle[Any] = task.using(tenant=self.name).enqueue(**arguments)
        return handle

    def show(self, handle: Handle[Any]) -> Job:
        return self.store.show(handle.id)

    def ends(self, handle: Handle[Any], within: float = WITHIN) -> Job | None:
        """Return the job once it has ended, or None if it does not."""

        query = f"SELECT state::text FROM tenure_{self.name}.job WHERE id = %s".encode()

        def look() -> bool:
            row = self._sql.execute(query, (handle.id,)).fetchone()
            return row is not None and row[0] in ENDED

        return self.show(handle) if patiently(look, within) else None

    def begins(self, handle: Handle[Any], gate: str) -> int:
        """Return how often the code of a neighbour has begun."""
        path = self.folder / f"began-{gate}-{handle.id}"
        return len(path.read_text().splitlines()) if path.exists() else 0

    def close(self) -> None:
        self.store.close()
        self._sql.close()

    def leftovers(self, handle: Handle[Any]) -> list[str]:
        """Return the warnings in the job's log that name what it has left."""
        lines = [
            one for one in self.store.job_output(handle.id, "logs") if one["level"] == "warning"
        ]
        return [str(one["line"]) for one in lines if "not all that it started" in str(one["line"])]


def patiently(look: Callable[[], Any], within: float) -> Any:
    """Return what is looked for as soon as it is there, or None."""
    try:
        return eventually(look, within=within)
    except AssertionError:
        return None


class Arena:
    def __init__(self, url: str, folder: Path, worker: RunningWorker) -> None:
        self._url = url
        self.folder = folder
        self.worker = worker
        self._lanes: queue.SimpleQueue[Lane] = queue.SimpleQueue()
        self._numbers: list[int] = []
        for name in LANES:
            self._lanes.put(Lane(url, name, folder))

    @contextmanager
    def lane(self) -> Iterator[Lane]:
        """A lane in which nothing else runs."""
        lane = self._lanes.get()
        try:
            yield lane
        finally:
            self._lanes.put(lane)

    def run_all(self, scenarios: Sequence[T], play: Play[T]) -> Mapping[str, Evidence]:
        """Play as many scenarios at once as there are lanes."""
        with ThreadPoolExecutor(len(LANES)) as pool:
            seen = pool.map(lambda scenario: self._run(scenario, play), scenarios)
            return dict(zip(map(str, scenarios), seen, strict=True))

    def _run(self, scenario: T, play: Play[T]) -> Evidence:
        evidence = Evidence()
        number = next(_numbers)
        self._numbers.append(number)
        with self.lane() as lane:
            try:
                play(lane, scenario, number, evidence)
            except Exception:  # noqa: BLE001 - one that cannot be played spoils no other
                evidence.broken.append(traceback.format_exc())
        return evidence

    def clean_up(self) -> None:
        """Kill what the scenarios recorded and the worker did not end."""
        for number in self._numbers:
            for pid in Traces(self.folder, number).pids():
                kill_if_ours(pid, self.folder)
        while not self._lanes.empty():
            self._lanes.get().close()

    def is_unharmed(self) -> bool:
        """Tell whether the worker is still the one that was started."""
        with Store(self._url) as store:
            return [one.status for one in store.workers(all=True)] == ["alive"]


def make_lanes(url: str) -> None:
    for name in LANES:
        Migrator(url).migrate(Tenant(name))


@contextmanager
def opened(
    url: str, folder: Path, module: ModuleType, *options: str, **settings: str
) -> Iterator[Arena]:
    """A worker for all lanes of this database, and nothing of it afterwards."""
    app: Tenure = module.app
    before, app._url = app._url, url
    try:
        with running_worker(
            url,
            folder,
            "--all-tenants",
            "--processes",
            str(2 * len(LANES)),
            *options,
            app=f"{module.__name__}:app",
            settings={**SETTINGS, **settings},
        ) as worker:
            arena = Arena(url, folder, worker)
            try:
                yield arena
            finally:
                arena.clean_up()
            assert arena.is_unharmed(), f"the worker did not survive:\n{worker.log[-5000:]}"
    finally:
        app.close()
        app._url = before
