"""The embedded PostgreSQL: its watcher, and what outlives a crash of any of its processes."""

import os
import signal
import subprocess
from pathlib import Path

import psutil
import pytest

from tenure.store.embedded import Embedded
from tests.system.embedded.users import (
    Crowd,
    ask,
    crash,
    is_deserted,
    is_stopped,
    needs_proc,
    postmaster_of,
    processes_of,
    starts_of,
    tell,
    watchers_of,
)
from tests.workers import eventually


def test_a_killed_watcher_is_replaced_by_the_next_user(folder: Path, crowd: Crowd) -> None:
    first = crowd.user(folder)
    first.url()
    (watcher,) = watchers_of(folder)
    crash(watcher)
    second = crowd.user(folder)
    second.url()
    first.kill()
    second.kill()
    eventually(lambda: is_deserted(folder))
    assert is_stopped(folder)


def test_a_watcher_that_outlives_its_server_watches_the_next_one(folder: Path) -> None:
    with Embedded.open(folder):
        (watcher,) = watchers_of(folder)
        watcher.suspend()
    with Embedded.open(folder) as user:
        assert watchers_of(folder) == [watcher]
        watcher.resume()
        assert ask(user.url, "SELECT 1") == 1
    watcher.wait(timeout=20)


def test_a_watcher_puts_nothing_back_into_a_folder_that_is_being_removed(folder: Path) -> None:
    with Embedded.open(folder):
        (watcher,) = watchers_of(folder)
        watcher.suspend()
    (folder / "locks" / "turn").unlink()
    left = sorted((folder / "locks").iterdir())
    watcher.resume()
    watcher.wait(timeout=20)
    assert sorted((folder / "locks").iterdir()) == left


@needs_proc
def test_the_watcher_keeps_nothing_of_its_starter(folder: Path, crowd: Crowd) -> None:
    crowd.user(folder).url()
    (watcher,) = watchers_of(folder)
    eventually(lambda: watcher.status() == psutil.STATUS_SLEEPING)
    assert watcher.cwd() == "/"
    assert watcher.terminal() is None
    opened = {str(fd.resolve()) for fd in Path(f"/proc/{watcher.pid}/fd").iterdir()}
    locks = folder / "locks"
    assert opened == {"/dev/null", str(locks / "watcher"), str(locks / "pulse")}


def test_who_waits_for_a_killed_users_output_does_not_wait_for_the_server(
    folder: Path, crowd: Crowd
) -> None:
    starter = crowd.user(folder)
    starter.url()
    with Embedded.open(folder):
        starter.process.kill()
        assert starter.leave() == ("", "")


def test_the_server_is_nobodys_child_and_does_not_hear_ctrl_c(folder: Path, crowd: Crowd) -> None:
    starter = crowd.user(folder)
    starter.url()
    postmaster = psutil.Process(postmaster_of(folder))
    assert postmaster.ppid() not in (starter.process.pid, os.getpid())
    assert os.getsid(postmaster.pid) != os.getsid(starter.process.pid)
    assert postmaster.terminal() is None
    with Embedded.open(folder) as user:
        os.killpg(starter.process.pid, signal.SIGINT)
        starter.process.wait(timeout=20)
        assert ask(user.url, "SELECT 1") == 1


def test_a_crash_of_everything_loses_no_committed_row(folder: Path, crowd: Crowd) -> None:
    user = crowd.user(folder)
    url = user.url()
    tell(url, "CREATE TABLE kept (id int)")
    for number in range(20):
        tell(url, f"INSERT INTO kept VALUES ({number})")
    crash(*processes_of(folder))
    with Embedded.open(folder) as after:
        assert ask(after.url, "SELECT count(*) FROM kept") == 20
    assert starts_of(folder) == 2


def test_a_crashed_server_is_started_again_by_the_next_user(folder: Path, crowd: Crowd) -> None:
    before = crowd.user(folder)
    before.url()
    crash(psutil.Process(postmaster_of(folder)))
    with Embedded.open(folder) as user:
        assert ask(user.url, "SELECT 1") == 1
        before.leave()
        assert ask(user.url, "SELECT 1") == 1
    assert is_stopped(folder)


@needs_proc
def test_a_pid_file_that_names_a_stranger_is_not_believed(folder: Path, crowd: Crowd) -> None:
    user = crowd.user(folder)
    user.url()
    crash(*processes_of(folder))
    # Of the server's own user: PostgreSQL believes any living process of that user.
    owner = (folder / "data").stat()
    with subprocess.Popen(["sleep", "600"], user=owner.st_uid, cwd="/") as stranger:
        for named in ("data/postmaster.pid", "socket/.s.PGSQL.5432.lock"):
            text = (folder / named).read_text()
            (folder / named).write_text(f"{stranger.pid}\n{text.partition(chr(10))[2]}")
        with Embedded.open(folder) as after:
            assert ask(after.url, "SELECT 1") == 1
        assert stranger.poll() is None
        stranger.kill()


@pytest.mark.parametrize("initdb_too", [True, False])
def test_an_initdb_killed_in_the_middle_is_done_again(
    empty: Path, crowd: Crowd, initdb_too: bool
) -> None:
    new = empty / "new"
    first = crowd.user(new)
    eventually(lambda: (new / "data.new" / "PG_VERSION").exists())
    first.kill()
    if initdb_too:
        crash(*processes_of(new))
    with Embedded.open(new) as user:
        assert ask(user.url, "SELECT 1") == 1
    assert not (new / "data.new").exists()
