"""Runners that are forked: each is as good as one that was spawned, or it is spawned."""

import os
import signal
from pathlib import Path

import psutil
import pytest

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import State
from tenure.runtime.exit_code import ExitCode
from tenure.runtime.guard.processes import environment
from tenure.store.store import Store
from tests.system.scene import Scene
from tests.workers import RunningWorker, eventually, is_gone

APP = "tests.apps.forked:app"
HEAD = "from tenure import Tenure\napp = Tenure()\n@app.task(name='quick')\ndef quick(): return 7\n"
THREAD = "import threading, time\nthreading.Thread(target=time.sleep, args=(600,), name='ticker', daemon=True).start()\n"  # noqa: E501
STALLS = """
import os, socket, time
from pathlib import Path
here, server, made = Path(__file__).parent, os.getpid(), socket.socket.__init__
(here / "stalled").mkdir(exist_ok=True)
def stalling(self, *args, **kwargs):
    if os.getpid() != server and (here / "stall").exists():
        (here / "stall").unlink()
        (here / "stalled" / str(os.getpid())).touch()
        time.sleep(600)
    made(self, *args, **kwargs)
socket.socket.__init__ = stalling
"""
FORK = {"TENURE_RUNNER_START": "fork"}


@pytest.fixture
def scene(database: str, store: Store, tmp_path: Path) -> Scene:
    return Scene(database, store, tmp_path)


def written(scene: Scene, code: str = "") -> str:
    place = scene.folder / "shop.py"
    place.write_text(HEAD + code)
    return f"{place}:app"


def enqueue(scene: Scene, task: str) -> int:
    return scene.enqueue(NewJob(task=f"tests.apps.forked.{task}"))


def completes(scene: Scene, job: int) -> object:
    scene.watch.becomes(job, State.COMPLETED)
    return scene.store.show(job).result


def server_of(worker: RunningWorker) -> psutil.Process:
    pid = worker.fork_server
    assert pid is not None
    return psutil.Process(pid)


def runs(scene: Scene) -> psutil.Process:
    """Return the process of the job that waits."""
    note = scene.folder / "waits"
    eventually(lambda: note.exists() and note.read_text(), "a job waits")
    return psutil.Process(int(note.read_text()))


def test_a_forked_runner_is_a_child_of_the_guard_with_marks_and_numbers_of_its_own(
    scene: Scene,
) -> None:
    with scene.worker(app=APP, **FORK) as worker:
        jobs = [enqueue(scene, "shows") for _ in range(2)]
        shown = [completes(scene, job) for job in jobs]
        one, other = shown
        assert isinstance(one, dict)
        assert isinstance(other, dict)
        server = server_of(worker)
        for each in (one, other):
            assert each["parent"] == worker.guard.pid
            assert each["session"] == each["pid"] != server.pid
            marks = environment(each["pid"])
            assert (
                marks["TENURE_RUNNER"] == each["mark"] != environment(server.pid)["TENURE_RUNNER"]
            )
            assert marks["TENURE_WORKER"] == environment(server.pid)["TENURE_WORKER"]
        for name in ("pid", "mark", "random", "uuid", "descriptors"):
            assert one[name] != other[name], name
        assert "spawned instead" not in worker.log


def test_a_forked_runner_dies_with_the_guard(scene: Scene) -> None:
    with scene.worker(app=APP, **FORK) as worker:
        enqueue(scene, "waits")
        job, server = runs(scene), server_of(worker)
        os.kill(worker.pid, signal.SIGSTOP)  # the keeper does not help
        worker.guard.kill()
        eventually(lambda: is_gone(job) and is_gone(server), "the kernel has killed both", 5)
        os.kill(worker.pid, signal.SIGCONT)


def test_a_killed_fork_server_costs_no_job_and_its_successor_has_the_code_of_now(
    scene: Scene,
) -> None:
    with scene.worker("--processes", "1", app=APP, **FORK) as worker:
        job = enqueue(scene, "waits")
        at_work, server = runs(scene), server_of(worker)
        (scene.folder / "version").write_text("new")
        server.kill()
        worker.says("it is replaced")
        eventually(lambda: worker.fork_server not in (server.pid, None), "there is another")
        (scene.folder / "go").touch()
        assert completes(scene, job) == at_work.pid
        assert scene.store.show(job).crashes == 0
        for runner in worker.runners:
            runner.kill()
        later = completes(scene, enqueue(scene, "ashows"))
        assert isinstance(later, dict)
        assert later["version"] == "new"
        assert later["parent"] == worker.guard.pid


def test_a_frozen_fork_server_delays_a_runner_and_does_not_prevent_it(scene: Scene) -> None:
    with scene.worker(app=APP, **FORK) as worker:
        server = server_of(worker)
        server.suspend()
        for runner in worker.runners:
            runner.kill()
        result = completes(scene, enqueue(scene, "ashows"))
        assert isinstance(result, dict)
        assert result["version"] == "old"
        assert "which is spawned instead" in worker.log
        eventually(lambda: is_gone(server), "it was ended")


def test_a_forked_runner_that_says_nothing_in_time_is_not_left_behind(scene: Scene) -> None:
    with scene.worker(app=written(scene, STALLS), **FORK) as worker:
        (scene.folder / "stall").touch()
        for runner in worker.runners:
            runner.kill()
        assert completes(scene, scene.enqueue(NewJob(task="quick"))) == 7
        assert "made no runner, which is spawned instead: not within 10 s" in worker.log
        [stalled] = scene.folder.glob("stalled/*")
        eventually(lambda: not psutil.pid_exists(int(stalled.name)), "it was killed")


def test_an_app_that_cannot_be_forked_is_spawned_and_the_log_says_why(scene: Scene) -> None:
    with scene.worker(app=written(scene, THREAD), TENURE_RUNNER_START="auto") as worker:
        assert "started by spawn: importing the app left 1 thread (ticker)" in worker.log
        assert worker.fork_server is None
        assert completes(scene, scene.enqueue(NewJob(task="quick"))) == 7


def test_fork_is_refused_where_it_is_impossible(scene: Scene) -> None:
    with scene.starting(app=written(scene, THREAD), **FORK) as worker:
        assert worker.ends() == ExitCode.ERROR
        sentence = "cannot be forked: importing the app left 1 thread (ticker)"
        assert (
            f"tenure: runner_start: runners of {scene.folder}/shop.py:app {sentence}" in worker.log
        )


def test_spawn_is_a_choice(scene: Scene) -> None:
    with scene.worker(app=APP, TENURE_RUNNER_START="spawn") as worker:
        assert "runners are started by spawn: runner_start says so" in worker.log
        result = completes(scene, enqueue(scene, "ashows"))
        assert isinstance(result, dict)
        assert result["parent"] == worker.guard.pid


def test_an_app_that_overwrites_its_environment_is_spawned(scene: Scene) -> None:
    code = (
        "import ctypes\n"
        "entries = ctypes.POINTER(ctypes.c_void_p).in_dll(ctypes.CDLL(None), 'environ')\n"
        "for index in range(10_000):\n"
        "    if not entries[index]: break\n"
        "    word = ctypes.string_at(entries[index])\n"
        "    if word.startswith(b'TENURE_RUNNER='):\n"
        "        ctypes.memset(entries[index], 120, len(word)); break\n"
    )
    with scene.worker(app=written(scene, code), TENURE_RUNNER_START="auto") as worker:
        assert "importing the app changed the environment that the kernel shows" in worker.log
