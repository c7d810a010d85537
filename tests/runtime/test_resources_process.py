"""Real processes with real children, ended gently and by force."""

import asyncio
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tenure.errors import InputRefused
from tenure.resources import ProcessResourceManager

PATIENCE = 20.0

# Each process writes its pid once it is ready, and starts the next.
TREE = """
import os, pathlib, signal, subprocess, sys, time
folder, depth, deaf = pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "deaf"
if deaf:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if depth:
    subprocess.Popen([sys.executable, "-I", "-S", "-c", sys.argv[4], sys.argv[1], str(depth - 1),
                      sys.argv[3], sys.argv[4]], start_new_session=True)
(folder / f"{os.getpid()}.part").touch()
(folder / f"{os.getpid()}.part").rename(folder / str(os.getpid()))
time.sleep(3600)
"""


def eventually(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.005)


def command(folder: Path, depth: int, deaf: bool) -> list[str]:
    how = "deaf" if deaf else "hears"
    return [sys.executable, "-I", "-S", "-c", TREE, str(folder), str(depth), how, TREE]


def pids_in(folder: Path) -> list[int]:
    return [int(file.name) for file in folder.iterdir() if file.name.isdigit()]


def all_gone(pids: list[int]) -> bool:
    def gone(pid: int) -> bool:
        try:
            return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return True

    return all(gone(pid) for pid in pids)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    for pid in pids_in(tmp_path):
        if not all_gone([pid]):
            os.kill(pid, signal.SIGKILL)


def start_tree(folder: Path, depth: int = 2, deaf: bool = False) -> "subprocess.Popen[bytes]":
    process = subprocess.Popen(command(folder, depth, deaf))
    eventually(lambda: len(pids_in(folder)) == depth + 1)
    return process


def test_a_graceful_close_ends_the_process_and_its_descendants(folder: Path) -> None:
    process = start_tree(folder)
    manager = ProcessResourceManager(process)
    assert manager.is_active()
    assert asyncio.run(manager.close_gracefully(PATIENCE))
    assert all_gone(pids_in(folder))
    assert process.returncode == -signal.SIGTERM
    assert not manager.is_active()


def test_processes_that_ignore_the_request_are_killed_in_their_own_sessions_too(
    folder: Path,
) -> None:
    process = start_tree(folder, deaf=True)
    manager = ProcessResourceManager(process)
    assert not asyncio.run(manager.close_gracefully(0.05))
    assert not all_gone(pids_in(folder))
    asyncio.run(manager.force_close())
    assert all_gone(pids_in(folder))
    assert process.returncode == -signal.SIGKILL


def test_a_descendant_that_outlives_its_parent_is_still_known(folder: Path) -> None:
    process = start_tree(folder, depth=1)
    [child] = [pid for pid in pids_in(folder) if pid != process.pid]
    os.kill(child, signal.SIGSTOP)
    manager = ProcessResourceManager(process)
    assert manager._tree is not None
    manager._tree.scan()
    process.kill()
    process.wait()
    assert manager.is_active()
    asyncio.run(manager.force_close())
    assert all_gone([child])


def test_a_process_that_forks_all_the_time_is_killed_with_all_its_forks(tmp_path: Path) -> None:
    storm = "while :; do sleep 3601 & sleep 0.002; done"
    process = subprocess.Popen(["/bin/sh", "-c", storm], start_new_session=True)
    family = psutil.Process(process.pid)
    eventually(lambda: len(family.children()) > 5)
    asyncio.run(ProcessResourceManager(process).force_close())
    assert process.poll() is not None

    def left() -> list[int]:
        return [p.pid for p in psutil.process_iter() if _session(p.pid) == process.pid]

    assert all_gone(left())


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return 0


def test_a_stopped_process_hears_the_request(folder: Path) -> None:
    process = start_tree(folder, depth=0)
    process.send_signal(signal.SIGSTOP)
    assert asyncio.run(ProcessResourceManager(process).close_gracefully(PATIENCE))
    assert process.returncode == -signal.SIGTERM


def test_a_process_of_asyncio(folder: Path) -> None:
    async def run() -> None:
        process = await asyncio.create_subprocess_exec(*command(folder, 1, deaf=False))
        while len(pids_in(folder)) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        assert await ProcessResourceManager(process).close_gracefully(PATIENCE)
        assert await process.wait() == -signal.SIGTERM

    asyncio.run(run())
    assert all_gone(pids_in(folder))


def test_a_process_of_multiprocessing() -> None:
    process = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(3600,))
    process.start()
    asyncio.run(ProcessResourceManager(process).force_close())
    assert process.exitcode == -signal.SIGKILL
    process.close()


def test_a_pid(folder: Path) -> None:
    process = start_tree(folder, depth=1)
    assert asyncio.run(ProcessResourceManager(process.pid).close_gracefully(PATIENCE))
    assert process.wait() == -signal.SIGTERM
    assert all_gone(pids_in(folder))


def test_a_process_that_has_ended_is_closed(folder: Path) -> None:
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", ""])
    process.wait()
    manager = ProcessResourceManager(process)
    assert not manager.is_active()
    assert asyncio.run(manager.close_gracefully())
    asyncio.run(manager.force_close())


@pytest.mark.parametrize("ours", [os.getpid(), os.getppid(), 1], ids=["itself", "parent", "init"])
def test_a_job_cannot_close_what_it_runs_in(ours: int) -> None:
    if ours not in {os.getpid(), *(parent.pid for parent in psutil.Process().parents())}:
        pytest.skip("not one that this process comes from")
    with pytest.raises(InputRefused, match="is this process or one of its ancestors"):
        ProcessResourceManager(ours)


@pytest.mark.parametrize("thing", [None, "42", True, object()])
def test_what_is_no_process_is_refused(thing: object) -> None:
    with pytest.raises(InputRefused, match="is neither a pid nor a process that was started"):
        ProcessResourceManager(thing)
