"""What ordinary libraries start and keep costs neither their user nor a neighbour anything."""

import http.server
import inspect
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from tenure.control.handle import Handle
from tenure.domain.lifecycle import State
from tests.apps.hostile import habitual
from tests.apps.hostile.habits import HABITS
from tests.hostile import arena as arenas
from tests.hostile.arena import WITHIN, Arena, Lane, patiently
from tests.hostile.conftest import asked_for
from tests.hostile.scenario import Evidence

pytestmark = pytest.mark.timeout(600)  # the first test waits for the scenarios of all

PROMPT = 10.0  # seconds; a job that waits for a leftover waits for 20
LONG = 8.0  # seconds, far longer than any grace here
# These leave nothing, or pools that have nothing to do: there is nothing to warn of.
QUIET = {
    "lazy_thread_pool",
    "own_thread_pool",
    "process_pool_fork",
    "process_pool_spawn",
    "awaited_process_pool",
    "engine",
    "awaited_subprocess",
    "finished_subprocess",
    "many_to_thread",
    "name_lookup",
}
TASKS = {
    "async": (habitual.uses, habitual.long),
    "thread": (habitual.uses_in_thread, habitual.long_in_thread),
}


@dataclass(frozen=True)
class Habit:
    name: str
    executor: str

    def __str__(self) -> str:
        return f"{self.name}-{self.executor}"


IN_BOTH = [
    Habit(name, executor)
    for name, use in HABITS.items()
    for executor in TASKS
    if executor == "async" or not inspect.iscoroutinefunction(use)
]


class Hello(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # keep-alive

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def greeter() -> Iterator[str]:
    """The address of an HTTP server that says hello."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hello)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def arena(
    lanes_database: str, greeter: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Arena]:
    """A worker whose graces are far shorter than its long jobs."""
    settings = {"TENURE_STOP_GRACE": "1s", "TENURE_TEST_HTTP": greeter}
    folder = tmp_path_factory.mktemp("habits")
    with arenas.opened(lanes_database, folder, habitual, **settings) as arena:
        yield arena


@pytest.fixture(scope="module")
def evidence(request: pytest.FixtureRequest, arena: Arena) -> Mapping[str, Evidence]:
    return arena.run_all(asked_for(request), play)


def play(lane: Lane, habit: Habit, number: int, evidence: Evidence) -> None:
    """Use a habit again and again beside a long job, and stop one of its users."""
    mark = f"gate-{number}"
    uses, long = TASKS[habit.executor]
    neighbour = lane.enqueue(long, mark=mark)
    patiently(lambda: lane.begins(neighbour, mark), WITHIN)
    for _ in range(3):
        pair = [lane.enqueue(uses, habit=habit.name, mark=mark) for _ in range(2)]
        for handle in pair:
            _completes_promptly(lane, handle, mark, evidence)
            if habit.name in QUIET:
                named = lane.leftovers(handle)
                evidence.claim(not named, f"its log warns: {named}")
    time.sleep(1.5)  # longer than the grace after which neighbours would be killed
    _a_user_is_stopped(lane, uses, habit, mark, evidence)
    _completes_promptly(lane, lane.enqueue(uses, habit=habit.name, mark=mark), mark, evidence)
    (lane.folder / mark).touch()
    job = lane.ends(neighbour) or lane.show(neighbour)
    evidence.claim(job.state is State.COMPLETED, f"the long job is {job.state}")
    began = lane.begins(neighbour, mark)
    evidence.claim(began == 1, f"the long job began {began} times")
    evidence.claim(job.attempt == 1, f"the long job is at attempt {job.attempt}")


def _completes_promptly(lane: Lane, handle: Handle[Any], mark: str, evidence: Evidence) -> None:
    job = lane.ends(handle) or lane.show(handle)
    evidence.claim(
        job.state is State.COMPLETED, f"a user of it is {job.state}: {job.error_message}"
    )
    evidence.claim(job.attempt == 1, f"a user of it is at attempt {job.attempt}")
    used = lane.folder / f"used-{mark}-{handle.id}"
    if job.completed_at is not None and used.exists():
        waited = job.completed_at.timestamp() - used.stat().st_mtime
        evidence.claim(waited < PROMPT, f"it ended {waited:.1f} s after its code had")


def _a_user_is_stopped(lane: Lane, uses: Any, habit: Habit, mark: str, evidence: Evidence) -> None:
    """What earlier jobs started is not its own, so it ends without harm to anybody."""
    handle = lane.enqueue(uses, habit=habit.name, mark=mark, stays=True)
    used = lane.folder / f"used-{mark}-{handle.id}"
    if not patiently(used.exists, WITHIN):
        evidence.broken.append(f"the user to be stopped never ran: {lane.show(handle).state}")
        return
    handle.cancel(reason="enough", grace="1s")
    job = lane.ends(handle) or lane.show(handle)
    evidence.claim(job.state is State.CANCELLED, f"the stopped user is {job.state}")


@pytest.mark.parametrize("scenario", IN_BOTH, ids=str)
def test_nobody_notices_that_a_library_keeps_something(
    scenario: Habit, evidence: Mapping[str, Evidence]
) -> None:
    evidence[str(scenario)].check()


# Started before other threads start programs: a process that is forked meanwhile inherits the pipe
# whose end subprocess.Popen waits for, and then CPython waits for ever.
FORKING = ("process_pool_fork", "multiprocessing_pool")


@pytest.mark.parametrize("executor", ["async", "thread"])
def test_a_long_job_beside_users_of_all_habits_begins_once(arena: Arena, executor: str) -> None:
    """A hundred short jobs come and go meanwhile."""
    mark = f"all-{executor}"
    names = [habit.name for habit in IN_BOTH if habit.executor == executor]
    uses, long = TASKS[executor]
    with arena.lane() as lane:
        for name in FORKING:
            assert lane.ends(lane.enqueue(uses, habit=name, mark=mark), within=60)
        neighbour = lane.enqueue(long, mark=mark, seconds=LONG)
        patiently(lambda: lane.begins(neighbour, mark), WITHIN)
        users = [lane.enqueue(uses, habit=name, mark=mark) for name in names * 4]
        ended = [lane.ends(user, within=60) or lane.show(user) for user in users]
        job = lane.ends(neighbour, within=60) or lane.show(neighbour)
        others = [
            (name, user.state, user.attempt)
            for name, user in zip(names * 4, ended, strict=True)
            if (user.state, user.attempt) != (State.COMPLETED, 1)
        ]
        assert others == []
        assert (job.state, job.attempt) == (State.COMPLETED, 1)
        assert lane.begins(neighbour, mark) == 1
