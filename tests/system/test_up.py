"""A real ``tenure up``: in a terminal, as a person would drive it, and killed in every way."""

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

import tenure
from tenure.domain.lifecycle import State
from tenure.store.store import Store
from tests.apps import jobs
from tests.terminal import TMUX, terminal
from tests.workers import (
    ROOT,
    RunningWorker,
    Watcher,
    command_of,
    eventually,
    is_gone,
    runner_start,
)

TENURE = Path(sys.executable).with_name("tenure")
APP = "tests.apps.jobs:app"
SERVING = "serving on http://127.0.0.1:"


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Where a PostgreSQL is made once; short, because a socket is in it.

    A test that leaves a job behind which never ends uses ``own_folder``: the next worker here would
    take that job up, and wait for it when it drains.
    """
    with tempfile.TemporaryDirectory(prefix="tenure-up-") as folder:
        yield Path(folder)


@pytest.fixture
def own_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="tenure-up-") as folder:
        yield Path(folder)


def environment(folder: Path) -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith("TENURE_")}
    return {
        **ours,
        **runner_start(),
        "PYTHONPATH": os.pathsep.join([str(Path(tenure.__file__).parents[1]), str(ROOT)]),
        "TENURE_FOLDER": str(folder / ".tenure"),
        "TENURE_TEST_FOLDER": str(folder),
        "PATH": f"{TENURE.parent}:{os.environ['PATH']}",
    }


class Up(RunningWorker):
    """The supervisor, watched by what it says."""

    def child(self, name: str) -> psutil.Process:
        children = psutil.Process(self.pid).children()
        [found] = [child for child in children if name in command_of(child)]
        return found

    def says_again(self, text: str, times: int) -> None:
        eventually(
            lambda: self.log.count(text) >= times, lambda: f"{text!r} {times} times in:\n{self.log}"
        )

    def is_up(self) -> None:
        self.says(SERVING)
        self.says(" runs ")


@contextmanager
def up(folder: Path, *words: str, **more: str) -> Iterator[Up]:
    log = folder / f"up-{len(list(folder.glob('up-*.log')))}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [TENURE, "up", "--port", "0", *words],
            cwd=ROOT,
            env={**environment(folder), **more},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    started = Up(process, log)
    try:
        yield started
    finally:
        process.kill()
        process.wait()


def has_run(folder: Path, mark: str) -> list[str]:
    """What a job has written to this file, as soon as there is a line."""

    def lines() -> list[str]:
        path = folder / mark
        return path.read_text().splitlines() if path.exists() else []

    return eventually(lines, f"{mark} is there")


@pytest.mark.timeout(240)  # it has a database to make, and a dozen commands to type
@pytest.mark.skipif(TMUX is None, reason="there is no tmux here: apt-get install tmux")
def test_a_person_sets_it_up_stops_a_job_and_leaves(folder: Path) -> None:
    env = environment(folder)
    with (
        terminal(ROOT, env) as here,
        terminal(ROOT, env, 80, 24) as there,
    ):
        here.types(f"tenure up {APP} --port 0; echo code $?")
        here.shows(r"^  dashboard +http://127.0.0.1:\d+ ")
        here.shows(r"^  log in +http://127.0.0.1:\d+/login#code=\S{22}$")
        here.shows(r"^  stop +Ctrl-C here$")
        here.shows(rf"^api    │ .*{SERVING}")
        here.shows(r"^worker │ .* runs\b")

        there.types("clear; tenure job enqueue tests.apps.jobs.sleeps_async --key nap")
        has_run(folder, "started-1")
        there.types("clear; tenure job list")
        there.shows(r"^1 .*sleeps_async +running")
        there.types("clear; LINES=24 COLUMNS=80 tenure top")
        there.shows(r"^1 +tests.apps.jobs.sleeps_async")
        there.shows("q quits")
        there.resizes(60, 12)
        there.shows(r"^[0-9a-f]{8} alive")
        there.presses("q")
        there.resizes(80, 40)
        there.types("clear; tenure job cancel nap --reason 'I changed my mind'; echo cancel $?")
        screen = there.shows(r"^cancel 0$")
        assert re.search(r"Reason: +I changed my mind", screen)
        assert "Status: COMPLETED" in screen
        here.shows(r"^worker │ .*stop of job 1 asked by local: I changed my mind")

        there.types("clear; tenure doctor; echo doctor $?")
        assert "✓ workers      1 alive\n" in there.shows(r"^doctor 0$")
        there.types("clear; tenure job enqueue tests.apps.jobs.counts_runs seconds=4")
        has_run(folder, "ran-2")
        here.presses("C-c")
        here.shows(r"^up     │ exiting: jobs may finish within 5m; Ctrl-C again stops them")
        here.shows(r"^worker │ .*draining")
        screen = here.shows(r"^code \d+$")
        assert "up     │ all processes have exited; all running jobs finished\ncode 0\n" in screen


def test_what_dies_is_started_again_and_nothing_outlives_the_supervisor(own_folder: Path) -> None:
    with up(own_folder, APP) as running:
        running.is_up()
        for name in ("serve", "worker"):
            running.child(name).kill()
        running.says("api was killed by SIGKILL; restarting in 0.5 s")
        running.says("worker was killed by SIGKILL; restarting in 0.5 s")
        running.says_again(SERVING, 2)
        running.says_again(" runs ", 2)

        with Store(url_of(own_folder)) as store:
            job = store.enqueue(jobs.has_a_grandchild.new_job())[0].id
            has_run(own_folder, f"started-{job}")
        grandchild = psutil.Process(int(has_run(own_folder, f"grandchild-{job}")[0]))
        theirs = [*running.tree, grandchild, postmaster_of(own_folder)]
        assert len(theirs) > 6, "supervisor, API, keeper, guard, runners and theirs"
        running.signal(signal.SIGKILL)
        running.ends()
        eventually(lambda: all(map(is_gone, theirs)), f"all of {theirs} are gone")


@pytest.mark.parametrize("victims", ["postmaster", "all"])
def test_a_killed_database_is_restarted_and_work_continues(folder: Path, victims: str) -> None:
    with up(folder, APP, TENURE_LEASE="60s") as running:
        running.is_up()
        with Store(url_of(folder)) as store:
            job = store.enqueue(jobs.waits_to_go.new_job())[0].id
        has_run(folder, f"started-{job}")
        postmaster = postmaster_of(folder)
        doomed = [postmaster, *(postmaster.children(recursive=True) if victims == "all" else [])]
        for process in doomed:
            process.kill()
        running.says("up     │ the database has died; restarting in 0.5 s")
        running.says("up     │ the database is running again")
        assert postmaster_of(folder) != postmaster
        with Store(url_of(folder)) as store:
            watch = Watcher(store)
            later = store.enqueue(jobs.waits_to_go.new_job())[0].id
            for one in (job, later):
                (folder / f"go-{one}").touch()
                watch.becomes(one, State.COMPLETED)
            assert has_run(folder, f"started-{job}") == [""], "it ran once"
        assert "api was killed" not in running.log
        assert "worker was killed" not in running.log
        running.signal(signal.SIGTERM)
        assert running.ends() == 0


def test_a_database_that_keeps_dying_is_started_after_ever_longer_pauses(folder: Path) -> None:
    with up(folder) as running:
        running.says(SERVING)
        for times, pause in enumerate(("0.5", "1", "2"), start=1):
            postmaster_of(folder).kill()
            running.says(f"the database has died; restarting in {pause} s")
            running.says_again("the database is running again", times)
        running.signal(signal.SIGTERM)
        assert running.ends() == 0


def postmaster_of(folder: Path) -> psutil.Process:
    pid_file = folder / ".tenure" / "data" / "postmaster.pid"
    return psutil.Process(int(pid_file.read_text().split()[0]))


def url_of(folder: Path) -> str:
    from tenure.store.embedded import server

    return server.url(folder / ".tenure")


def test_the_second_signal_hurries_and_says_so(folder: Path, database: str, store: Store) -> None:
    with up(folder, APP, TENURE_DATABASE_URL=database) as running:
        running.is_up()
        assert "your PostgreSQL" in running.log
        job = store.enqueue(jobs.sleeps.new_job())[0].id
        Watcher(store).becomes(job, State.RUNNING)
        running.signal(signal.SIGTERM)
        running.says("draining")
        running.signal(signal.SIGTERM)
        assert running.ends() == 5
        assert "up     │ hurrying: running jobs are stopped and handed over\n" in running.log
        assert "unfinished jobs were handed over to the next worker" in running.log
        assert store.show(job).status == "queued"
        assert database not in running.log


def test_a_worker_that_was_asked_to_leave_is_not_started_again(
    folder: Path, database: str, store: Store
) -> None:
    with up(folder, APP, TENURE_DATABASE_URL=database) as running:
        running.is_up()
        [worker] = store.workers()
        store.drain(worker.id)
        running.says("worker has exited as requested")
        assert running.child("serve").is_running()
        running.signal(signal.SIGTERM)
        assert running.ends() == 0


def test_an_app_that_cannot_be_imported_is_shown_and_not_tried_again(
    folder: Path, database: str, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("import no_such_thing\n")
    with up(folder, f"{broken}:app", TENURE_DATABASE_URL=database) as running:
        assert running.ends() == 3
        assert "ModuleNotFoundError: No module named 'no_such_thing'" in running.log
        assert "restarting in" not in running.log
        assert running.log.endswith("up     │ the app cannot be imported\n")


def test_without_an_app_it_says_that_no_worker_runs(folder: Path, database: str) -> None:
    with up(folder, TENURE_DATABASE_URL=database) as running:
        running.says(SERVING)
        assert "  worker     none; to run one, name your app: tenure up shop.jobs:app\n" in (
            running.log
        )
        running.signal(signal.SIGINT)
        assert running.ends() == 0


def test_signals_until_the_very_end_leave_the_exit_code_alone(folder: Path) -> None:
    """Also while the database is stopped, which comes last."""
    with up(folder, APP) as running:
        running.is_up()
        running.signal(signal.SIGTERM)
        running.says("all running jobs finished")
        assert running.ends_under_signals(signal.SIGTERM) == 0, running.log
