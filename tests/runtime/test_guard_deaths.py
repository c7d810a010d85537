"""What happens to runners when their keeper or their guard dies, or stands still."""

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.errors import GuardUnavailable
from tenure.runtime.guard import cgroups, processes
from tenure.runtime.guard.guard_state import boottime
from tenure.runtime.guarding import Exit
from tests.runtime.guarded import (
    HOG,
    PARENT,
    SIGN,
    SLEEPER,
    Ground,
    in_loop,
    is_alive,
    until,
    until_async,
    ways,
)


@pytest.fixture(params=list(ways()))
def ground(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ground]:
    ground = Ground(tmp_path, request.param)
    yield ground
    cgroups.clear(ground.marker)  # what is left by a test that kills the guard and its keeper
    ground.leave()


@pytest.mark.parametrize("code", [HOG, PARENT], ids=["hog", "parent"])
def test_a_keeper_frozen_past_its_deadline_has_its_runners_frozen(
    ground: Ground, code: str
) -> None:
    tree = ground.tree()
    with ground.keeper(code, tree, trust=0.5) as keeper:
        until(lambda: tree.is_ready)
        assert "T" not in tree.states
        keeper.send(signal.SIGSTOP)
        until(lambda: tree.states == {"T"})
        keeper.send(signal.SIGCONT)
        keeper.say("thaw")
        assert keeper.hear() == "thawed True"
        until(lambda: "T" not in tree.states)
        assert sorted(tree.alive) == sorted(tree.pids)


def test_a_keeper_frozen_for_too_long_has_its_runners_killed(ground: Ground) -> None:
    tree = ground.tree()
    with ground.keeper(HOG, tree, trust=2.0, freeze_max=1.0) as keeper:
        until(lambda: tree.is_ready)
        keeper.send(signal.SIGSTOP)
        until(lambda: not tree.alive)
        assert is_alive(keeper.guard)
        keeper.send(signal.SIGCONT)
        assert keeper.hear() == f"exit {keeper.runner} signal 9 (SIGKILL)"


@pytest.mark.parametrize("code", [HOG, PARENT], ids=["hog", "parent"])
def test_a_killed_keeper_takes_its_runners_with_it(ground: Ground, code: str) -> None:
    tree = ground.tree()
    with ground.keeper(code, tree) as keeper:
        until(lambda: tree.is_ready)
        keeper.send(signal.SIGKILL)
        until(lambda: not tree.alive)
        until(lambda: not is_alive(keeper.guard))


def test_a_killed_keeper_takes_its_frozen_runners_with_it(ground: Ground) -> None:
    tree = ground.tree()
    with ground.keeper(HOG, tree, trust=0.3) as keeper:
        until(lambda: tree.is_ready)
        keeper.send(signal.SIGSTOP)
        until(lambda: tree.states == {"T"})
        keeper.send(signal.SIGKILL)
        until(lambda: not tree.alive)


def test_keeper_and_guard_killed_at_once_take_the_runner_with_them(ground: Ground) -> None:
    tree = ground.tree()
    with ground.keeper(SLEEPER, tree) as keeper:
        until(lambda: tree.pids)
        keeper.send(signal.SIGSTOP)  # so that it cannot clear up behind its guard
        os.kill(keeper.guard, signal.SIGKILL)
        keeper.send(signal.SIGKILL)
        until(lambda: not tree.alive)


@in_loop
async def test_a_killed_guard_is_seen_and_its_trees_are_gone(ground: Ground) -> None:
    tree = ground.tree()
    guard = await ground.guard()
    runner = await ground.runner(guard, PARENT, tree)
    await until_async(lambda: tree.is_ready)
    os.kill(guard.pid, signal.SIGSTOP)
    asked = asyncio.create_task(guard.kill(runner))
    await asyncio.sleep(0)
    os.kill(guard.pid, signal.SIGKILL)
    async with asyncio.timeout(10):
        swept = await guard.died
    assert not swept.left
    assert not tree.alive
    assert ground.exits == {runner: Exit(None, 9)}
    with pytest.raises(GuardUnavailable, match="the guard is gone"):
        await asked
    with pytest.raises(GuardUnavailable, match="the guard is gone"):
        await guard.spawn(["/bin/true"], env={})
    await guard.close()


@in_loop
async def test_a_killed_guard_leaves_no_child_without_marker_in_the_runners_session(
    ground: Ground,
) -> None:
    tree = ground.tree()
    code = f"""
{SIGN}
import subprocess, sys, time
subprocess.Popen([sys.executable, '-ISc', {SLEEPER!r}], env={{'TREE': os.environ['TREE']}})
time.sleep(600)
"""
    guard = await ground.guard()
    await ground.runner(guard, code, tree)
    await until_async(lambda: len(tree.pids) == 2)
    os.kill(guard.pid, signal.SIGKILL)
    async with asyncio.timeout(10):
        await guard.died
    assert not tree.alive
    await guard.close()


@in_loop
async def test_a_guard_that_stands_still_is_noticed_and_ended(ground: Ground) -> None:
    tree = ground.tree()
    guard = await ground.guard()
    runner = await ground.runner(guard, HOG, tree)
    await until_async(lambda: tree.is_ready)
    assert not guard.seems_stuck(boottime())
    os.kill(guard.pid, signal.SIGSTOP)
    await until_async(lambda: guard.seems_stuck(boottime()))
    await guard.end_it()
    async with asyncio.timeout(10):
        await guard.died
    assert not tree.alive
    assert ground.exits == {runner: Exit(None, 9)}
    await guard.close()


@in_loop
async def test_a_guard_frozen_together_with_its_keeper_gets_a_second_look(ground: Ground) -> None:
    async with await ground.guard() as guard:
        os.kill(guard.pid, signal.SIGSTOP)
        later = guard._page.stamp + 60
        assert not guard.seems_stuck(later)
        assert not guard.seems_stuck(later + 0.5)
        assert guard.seems_stuck(later + 1)
        os.kill(guard.pid, signal.SIGCONT)
        stamp = guard._page.stamp
        await until_async(lambda: guard._page.stamp > stamp)
        assert not guard.seems_stuck(later + 2)
        assert not guard.seems_stuck(boottime())


@in_loop
async def test_the_guard_stays_small(ground: Ground) -> None:
    async with await ground.guard() as guard:
        pages = int(processes.read(f"/proc/{guard.pid}/statm").split()[1])
        assert pages * os.sysconf("SC_PAGE_SIZE") < 16_000_000


def test_a_family_is_found_with_and_without_the_kernels_lists(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = ground.tree()
    with ground.keeper(PARENT, tree) as keeper:
        until(lambda: tree.is_ready)
        assert set(processes.family(keeper.runner)) == set(tree.pids)
        monkeypatch.setattr(processes, "_KERNEL_LISTS_CHILDREN", False)
        assert set(processes.family(keeper.runner)) == set(tree.pids)
        assert processes.children_of(keeper.guard) == [keeper.runner]
        assert next(processes.family(keeper.guard)) == keeper.guard
