"""A process whose main thread has ended runs on as long as another thread of it does."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tenure.resources import ProcessResourceManager
from tenure.runtime.guard import cgroups, processes
from tenure.runtime.keeper.runs.process_usage import measure
from tenure.runtime.leftovers import kill_marked
from tests.runtime.guarded import (
    SIGN,
    SLEEPER,
    Ground,
    Tree,
    freeze,
    in_loop,
    until,
    until_async,
    ways,
)
from tests.runtime.half_dead import END_THIS_THREAD, WRITER, runs, states_of_threads

# The runner itself.
ALONE = f"{SIGN}\nimport sys; sys.argv[1:] = [os.environ['TREE'] + '/ready']\n{WRITER}"

# A daemon of the runner: its parent is gone, and it has a child that its second thread started.
DAEMON = f"""
{SIGN}
import sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execv(sys.executable, [sys.executable, '-ISc', '''
{SIGN}
import subprocess, sys, threading, time
def go_on():
    subprocess.Popen([sys.executable, '-ISc', {SLEEPER!r}])
    while len([name for name in os.listdir(os.environ['TREE']) if name.isdigit()]) < 3:
        time.sleep(0.005)
    while True:
        with open(os.environ['TREE'] + '/ready', 'a') as file:
            file.write('more')
        time.sleep(0.005)
threading.Thread(target=go_on).start()
{END_THIS_THREAD}
'''])
    os._exit(0)
time.sleep(600)
"""


@pytest.fixture(params=list(ways()))
def ground(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ground]:
    ground = Ground(tmp_path, request.param)
    yield ground
    for tree in ground.trees:
        for pid in filter(runs, tree.pids):
            os.kill(pid, signal.SIGKILL)
    cgroups.clear(ground.marker)
    ground.leave()


def is_under_way(tree: Tree) -> bool:
    return tree.is_ready and any("Z" in states_of_threads(pid) for pid in tree.pids)


def has_stopped_writing(tree: Tree) -> bool:
    """Nothing of it is listed by the kernel, and what it wrote no longer grows."""
    size = (tree.folder / "ready").stat().st_size
    psutil.cpu_times_percent(interval=0.1)
    return not any(map(runs, tree.pids)) and (tree.folder / "ready").stat().st_size == size


@pytest.mark.parametrize("code", [ALONE, DAEMON], ids=["runner", "daemon"])
@in_loop
async def test_a_kill_is_not_over_before_the_last_thread_is(ground: Ground, code: str) -> None:
    tree = ground.tree()
    async with await ground.guard() as guard:
        runner = await ground.runner(guard, code, tree)
        await until_async(lambda: is_under_way(tree))
        assert await guard.kill(runner) == ()
        assert has_stopped_writing(tree)
        await until_async(lambda: runner in ground.exits)
        assert ground.exits[runner].count == len(tree.pids)


@in_loop
async def test_a_runner_that_ends_takes_such_a_daemon_with_it(ground: Ground) -> None:
    tree = ground.tree()
    async with await ground.guard() as guard:
        runner = await ground.runner(guard, DAEMON, tree)
        await until_async(lambda: is_under_way(tree))
        os.kill(runner, signal.SIGTERM)
        await until_async(lambda: runner in ground.exits)
        assert has_stopped_writing(tree)


@pytest.mark.parametrize("code", [ALONE, DAEMON], ids=["runner", "daemon"])
@in_loop
async def test_a_dead_guard_leaves_no_such_process(ground: Ground, code: str) -> None:
    tree = ground.tree()
    guard = await ground.guard()
    await ground.runner(guard, code, tree)
    await until_async(lambda: is_under_way(tree))
    os.kill(guard.pid, signal.SIGKILL)
    async with asyncio.timeout(10):
        await guard.died
    assert has_stopped_writing(tree)
    await guard.close()


@pytest.mark.parametrize("code", [ALONE, DAEMON], ids=["runner", "daemon"])
def test_a_dead_keeper_leaves_no_such_process(ground: Ground, code: str) -> None:
    tree = ground.tree()
    with ground.keeper(code, tree) as keeper:
        until(lambda: is_under_way(tree))
        keeper.send(signal.SIGKILL)
        until(lambda: not runs(keeper.guard))
        assert has_stopped_writing(tree)


@pytest.mark.parametrize("code", [ALONE, DAEMON], ids=["runner", "daemon"])
@in_loop
async def test_a_freeze_stops_such_a_process(ground: Ground, code: str) -> None:
    tree = ground.tree()
    async with await ground.guard() as guard:
        await ground.runner(guard, code, tree)
        await until_async(lambda: is_under_way(tree))
        await freeze(guard)
        assert all(states_of_threads(pid) <= {"T", "Z"} for pid in tree.pids)
        size = (tree.folder / "ready").stat().st_size
        await asyncio.sleep(0.1)
        assert (tree.folder / "ready").stat().st_size == size
        await guard.thaw()
        await until_async(lambda: (tree.folder / "ready").stat().st_size > size)


@pytest.fixture
def writer(tmp_path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A process of ours that writes on after the end of its main thread."""
    env = {**os.environ, processes.WORKER: f"test-{tmp_path.name}"}
    process = subprocess.Popen([sys.executable, "-ISc", WRITER, tmp_path / "lines"], env=env)
    until((tmp_path / "lines").exists)
    yield process
    process.kill()
    process.wait()


def test_it_is_alive_and_can_be_read(writer: "subprocess.Popen[bytes]", tmp_path: Path) -> None:
    marker = f"test-{tmp_path.name}"
    seen = processes.stat(writer.pid)
    assert seen is not None
    assert (seen.state, seen.threads) == ("Z", 2)
    assert processes.is_alive(writer.pid)
    assert processes.state(writer.pid) in "RS"
    assert processes.carries(writer.pid, processes.WORKER, marker)
    assert processes.environment(writer.pid)[processes.WORKER] == marker
    assert processes.command(writer.pid).startswith(sys.executable)
    [process] = measure([writer.pid])
    assert process.memory > 1_000_000
    assert kill_marked(marker).killed == (writer.pid,)
    assert not runs(writer.pid)
    assert not processes.is_alive(writer.pid)
    assert list(measure([writer.pid])) == []


def test_a_resource_is_not_closed_while_such_a_process_writes(
    writer: "subprocess.Popen[bytes]",
) -> None:
    manager = ProcessResourceManager(writer)
    assert manager.is_active()
    asyncio.run(manager.force_close())
    assert not runs(writer.pid)
