"""The guard with a keeper that lives: spawning, exits, killing, freezing."""

import asyncio
import json
import os
import signal
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from tenure.errors import GuardUnavailable, InputRefused
from tenure.runtime.guard import processes
from tenure.runtime.guard.guard_state import boottime
from tenure.runtime.guarding import Exit, Guard
from tests.runtime.guarded import (
    HOG,
    PARENT,
    SIGN,
    SLEEPER,
    Ground,
    freeze,
    in_loop,
    is_alive,
    python,
    until,
    until_async,
    ways,
)

# Every process forks every few milliseconds, until some 200 have been born.
STORM = f"""
{SIGN}
import time
end = time.monotonic() + 20
while time.monotonic() < end:
    if len(os.listdir(os.environ['TREE'])) < 200 and os.fork() == 0:
        {SIGN}
    time.sleep(0.003)
"""


@pytest.fixture(params=list(ways()))
def ground(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ground]:
    ground = Ground(tmp_path, request.param)
    yield ground
    ground.leave()


@pytest.fixture
def walking(tmp_path: Path) -> Iterator[Ground]:
    ground = Ground(tmp_path, "walk")
    yield ground
    ground.leave()


@in_loop
async def test_a_runner_gets_its_descriptors_environment_and_a_session(walking: Ground) -> None:
    code = """
    import json, os, signal, sys
    told = {
        "fds": sorted(int(fd) for fd in os.listdir("/proc/self/fd"))[:-1],
        "third": os.readlink("/proc/self/fd/3"),
        "env": {name: value[:100] for name, value in os.environ.items()},
        "is_leader": os.getsid(0) == os.getpid(),
        "blocked": list(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, ()))),
        "ignored": [
            int(s) for s in (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGUSR1)
            if signal.getsignal(s) is not signal.SIG_DFL
        ],
        "parent": os.getppid(),
    }
    print(json.dumps(told), flush=True)
    print("complaint", file=sys.stderr, flush=True)
    os.write(4, b"through four")
    """
    output, error, four = os.pipe(), os.pipe(), os.pipe()
    wide = os.open("/dev/null", os.O_RDONLY)
    async with await walking.guard() as guard:
        env = {"TENURE_WIRE": "3", "odd": "\udcff", "big": "x" * 100_000, "PATH": "/nowhere"}
        pid = await guard.spawn(
            python(code), env=env, fds=[wide, four[1]], stdout=output[1], stderr=error[1]
        )
        await until_async(lambda: pid in walking.exits)
        guard_pid = guard.pid
    for fd in (output[1], error[1], four[1], wide):
        os.close(fd)
    with os.fdopen(output[0]) as told, os.fdopen(error[0]) as complaint, os.fdopen(four[0]) as rest:
        seen = json.loads(told.read())
        assert complaint.read() == "complaint\n"
        assert rest.read() == "through four"
    assert walking.exits[pid] == Exit(0, None)
    assert seen["fds"] == [0, 1, 2, 3, 4]
    assert seen["third"] == "/dev/null"
    assert seen["parent"] == guard_pid
    assert seen["is_leader"]
    assert seen["blocked"] == seen["ignored"] == []
    marks = {"TENURE_WORKER": walking.marker, "TENURE_RUNNER": f"{walking.marker}.1"}
    assert {**seen["env"], **env, "big": "x" * 100, **marks} == seen["env"]


@in_loop
async def test_a_program_that_cannot_be_started_is_an_oserror(ground: Ground) -> None:
    async with await ground.guard() as guard:
        with pytest.raises(FileNotFoundError, match="no-such-program"):
            await guard.spawn(["no-such-program"], env={})
        with pytest.raises(OSError, match="Invalid argument"):
            await guard.spawn([], env={})
        assert guard.runners == frozenset()
    assert ground.exits == {}


@in_loop
async def test_a_marker_must_be_fit_for_a_folder() -> None:
    with pytest.raises(InputRefused, match=r"'\.\./x' cannot be the marker"):
        await Guard.start(marker="../x", freeze_max=timedelta(seconds=1))


@in_loop
async def test_a_runner_that_ends_at_once_is_told_after_its_pid(ground: Ground) -> None:
    async with await ground.guard() as guard:
        pids = [await guard.spawn(["/bin/true"], env={}) for _ in range(30)]
        await until_async(lambda: len(ground.exits) == 30)
    assert ground.exits == {pid: Exit(0, None) for pid in pids}


@in_loop
async def test_exit_codes_and_signals_are_told(ground: Ground) -> None:
    tree = ground.tree()
    async with await ground.guard() as guard:
        seven = await ground.runner(guard, "raise SystemExit(7)", tree)
        crash = await ground.runner(guard, "import os; os.abort()", tree)
        await until_async(lambda: len(ground.exits) == 2)
    assert str(ground.exits[seven]) == "exit code 7"
    assert str(ground.exits[crash]) == "signal 6 (SIGABRT)"


@in_loop
async def test_when_a_runner_is_killed_its_exit_is_told_after_its_tree_is_gone(
    ground: Ground,
) -> None:
    tree = ground.tree()
    seen: list[list[int]] = []
    async with await ground.guard() as guard:
        guard.on_exit = lambda _pid, _ended: seen.append(tree.alive)
        runner = await ground.runner(guard, HOG, tree)
        await until_async(lambda: tree.is_ready)
        os.kill(runner, signal.SIGKILL)
        await until_async(lambda: seen)
    assert seen == [[]]


@in_loop
async def test_a_runner_that_ends_well_takes_its_daemons_with_it(ground: Ground) -> None:
    tree = ground.tree()
    daemon = f"""
    import os, sys, time
    if os.fork() == 0:
        os.setsid()
        sleeper = [sys.executable, '-ISc', {SLEEPER!r}]
        os.execve(sys.executable, sleeper, {{'TREE': os.environ['TREE']}})
    while not os.listdir(os.environ['TREE']):
        time.sleep(0.005)
    """
    async with await ground.guard() as guard:
        runner = await ground.runner(guard, daemon, tree)
        await until_async(lambda: runner in ground.exits)
        assert ground.exits[runner] == Exit(0, None)
        assert len(tree.pids) == 1
        assert not tree.alive


@in_loop
async def test_kill_leaves_the_other_runner_alone(ground: Ground) -> None:
    one, other = ground.tree(), ground.tree()
    async with await ground.guard() as guard:
        first = await ground.runner(guard, HOG, one)
        second = await ground.runner(guard, PARENT, other)
        await until_async(lambda: one.is_ready and other.is_ready)
        assert await guard.kill(first) == ()
        assert not one.alive
        assert len(other.alive) == 3
        assert guard.runners == {second}
        assert ground.exits == {first: Exit(None, 9)}
        assert await guard.kill(first) == ()
        assert await guard.kill(second) == ()
        gone = ground.exits[second]
        assert (gone.gone[0], set(gone.gone), gone.count) == (second, set(other.pids), 3)
        assert not other.alive


@in_loop
async def test_a_fork_storm_is_killed_while_others_are_heard(ground: Ground) -> None:
    tree, other = ground.tree(), ground.tree()
    async with await ground.guard() as guard:
        runner = await ground.runner(guard, STORM, tree)
        neighbour = await ground.runner(guard, SLEEPER, other)
        await until_async(lambda: len(tree.pids) > 60)
        killing = asyncio.create_task(guard.kill(runner))
        waits = []
        while not killing.done():
            asked = time.monotonic()
            await guard.kill(1)  # no runner of this guard: answered at once
            waits.append(time.monotonic() - asked)
        assert await killing == ()
        assert not tree.alive
        assert is_alive(neighbour)
        assert max(waits) < 0.5, "asked of a guard that promises 0.1 s on a machine of its own"


@in_loop
async def test_freeze_and_thaw(ground: Ground) -> None:
    tree, other = ground.tree(), ground.tree()
    async with await ground.guard() as guard:
        await ground.runner(guard, HOG, tree)
        await ground.runner(guard, PARENT, other)
        await until_async(lambda: tree.is_ready and other.is_ready)
        await freeze(guard)
        assert guard.is_frozen
        assert tree.states | other.states == {"T"}
        with pytest.raises(GuardUnavailable, match="nothing is started"):
            await guard.spawn(["/bin/true"], env={})
        assert await guard.thaw()
        assert not guard.is_frozen
        await until_async(lambda: "T" not in tree.states | other.states)
        assert await guard.thaw()
        assert await guard.spawn(["/bin/true"], env={})


@in_loop
async def test_past_the_deadline_all_are_frozen_and_a_later_deadline_thaws_nothing(
    ground: Ground,
) -> None:
    tree = ground.tree()
    async with await ground.guard() as guard:
        await ground.runner(guard, PARENT, tree)
        await until_async(lambda: tree.is_ready)
        deadline = boottime() + 0.3
        guard.trust_until(deadline)
        await until_async(lambda: guard.is_frozen)
        assert 0 <= boottime() - deadline < 0.5
        assert tree.states == {"T"}
        assert not await guard.thaw()
        stamp = guard._page.stamp
        guard.trust_until(boottime() + 100)
        await until_async(lambda: guard._page.stamp > stamp + 1)
        assert guard.is_frozen
        assert tree.states == {"T"}
        assert await guard.thaw()
        await until_async(lambda: tree.states == {"S"})


@in_loop
async def test_what_someone_wakes_while_frozen_is_stopped_again(walking: Ground) -> None:
    tree = walking.tree()
    async with await walking.guard() as guard:
        runner = await walking.runner(guard, SLEEPER, tree)
        await freeze(guard)
        os.kill(runner, signal.SIGCONT)
        stamp = guard._page.stamp
        await until_async(lambda: guard._page.stamp > stamp + 0.6)
        await until_async(lambda: processes.state(runner) == "T")


@in_loop
async def test_a_frozen_runner_can_be_killed_alone(ground: Ground) -> None:
    one, other = ground.tree(), ground.tree()
    async with await ground.guard() as guard:
        first = await ground.runner(guard, PARENT, one)
        await ground.runner(guard, PARENT, other)
        await until_async(lambda: one.is_ready and other.is_ready)
        await freeze(guard)
        assert await guard.kill(first) == ()
        assert not one.alive
        assert guard.is_frozen
        assert other.states == {"T"}


@in_loop
async def test_after_freeze_max_the_frozen_are_killed(ground: Ground) -> None:
    tree = ground.tree()
    async with await ground.guard(freeze_max=0.5) as guard:
        runner = await ground.runner(guard, PARENT, tree)
        await until_async(lambda: tree.is_ready)
        guard.trust_until(boottime())
        await until_async(lambda: runner in ground.exits)
        assert ground.exits[runner] == Exit(None, 9)
        assert not tree.alive
        assert not guard.is_frozen
        with pytest.raises(GuardUnavailable):
            await guard.spawn(["/bin/true"], env={})
        guard.trust_until(boottime() + 100)
        assert await guard.spawn(["/bin/true"], env={})


@in_loop
async def test_nothing_is_spawned_before_the_keeper_is_trusted(walking: Ground) -> None:
    async with await walking.guard(trust=-1) as guard:
        with pytest.raises(GuardUnavailable, match="nothing is started while trust has run out"):
            await guard.spawn(["/bin/true"], env={})


@in_loop
async def test_a_spawn_that_is_given_up_leaves_no_runner(walking: Ground) -> None:
    tree = walking.tree()
    async with await walking.guard() as guard:
        os.kill(guard.pid, signal.SIGSTOP)
        spawning = asyncio.create_task(walking.runner(guard, SLEEPER, tree))
        await asyncio.sleep(0)
        spawning.cancel()
        with pytest.raises(asyncio.CancelledError):
            await spawning
        os.kill(guard.pid, signal.SIGCONT)
        pid = await guard.spawn(python(SLEEPER), env=tree.env)
        await until_async(lambda: processes.children_of(guard.pid) == [pid])


@in_loop
async def test_close_kills_all_and_the_guard_is_reaped(ground: Ground) -> None:
    tree = ground.tree()
    guard = await ground.guard()
    runner = await ground.runner(guard, HOG, tree)
    await until_async(lambda: tree.is_ready)
    await guard.close()
    assert not tree.alive
    assert processes.state(guard.pid) == "X"
    assert ground.exits == {runner: Exit(None, 9)}
    assert not guard.died.done()
    with pytest.raises(GuardUnavailable, match="the guard is gone"):
        await guard.kill(runner)


@in_loop
async def test_the_guard_is_deaf_to_the_terminal(walking: Ground) -> None:
    async with await walking.guard() as guard:
        assert os.getsid(guard.pid) == guard.pid
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            os.kill(guard.pid, each)
        assert await guard.kill(1) == ()


FREEZER = Path("/sys/fs/cgroup/freezer")


@pytest.fixture
def ice() -> Iterator[Path]:
    """A group of the old freezer: what is frozen in it does not die before it is thawed."""
    if not os.access(FREEZER, os.W_OK):
        pytest.skip("needs a writable freezer of the first kind of control groups")
    group = FREEZER / f"tenure-{uuid4().hex[:12]}"
    group.mkdir()
    yield group
    (group / "freezer.state").write_text("THAWED")
    until(lambda: not (group / "cgroup.procs").read_text())
    group.rmdir()


@in_loop
async def test_what_cannot_be_killed_is_named_and_holds_nobody_up(
    ground: Ground, ice: Path
) -> None:
    tree, other = ground.tree(), ground.tree()
    async with await ground.guard() as guard:
        runner = await ground.runner(guard, PARENT, tree)
        neighbour = await ground.runner(guard, PARENT, other)
        await until_async(lambda: tree.is_ready and other.is_ready)
        stuck = max(tree.pids)
        (ice / "cgroup.procs").write_text(str(stuck))
        (ice / "freezer.state").write_text("FROZEN")
        await until_async(lambda: (ice / "freezer.state").read_text() == "FROZEN\n")
        killing = asyncio.create_task(guard.kill(runner))
        assert await guard.kill(neighbour) == ()
        assert not killing.done()
        left = await killing
        assert [each.pid for each in left] == [stuck]
        assert left[0].why == "uninterruptible"
        assert ground.exits[runner] == Exit(None, 9, left)
        (ice / "freezer.state").write_text("THAWED")
        await until_async(lambda: not tree.alive)
