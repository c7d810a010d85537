"""Real trees of processes under a real guard, and ways to look at them."""

import asyncio
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from datetime import timedelta
from functools import wraps
from pathlib import Path
from signal import SIGKILL
from typing import Any, ParamSpec
from uuid import uuid4

from tenure.runtime.guard import cgroups, processes
from tenure.runtime.guard.guard_state import boottime
from tenure.runtime.guarding import Exit, Guard

HOUR = 3600.0

P = ParamSpec("P")

# Every process of a tree writes its pid here, also those that carry no marker any more.
SIGN = "import os; open(os.environ['TREE'] + '/' + str(os.getpid()), 'w').close()"

SLEEPER = f"{SIGN}; import time; time.sleep(600)"

# Deaf to all signals, never gives up the GIL, and has a grandchild in a session of its own that
# carries no marker and whose parent is gone.
HOG = f"""
{SIGN}
import re, signal, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        sleeper = [sys.executable, '-ISc', {SLEEPER!r}]
        os.execve(sys.executable, sleeper, {{'TREE': os.environ['TREE']}})
    os._exit(0)
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
while len(os.listdir(os.environ['TREE'])) < 2:
    time.sleep(0.005)
open(os.environ['TREE'] + '/ready', 'w').close()
re.match(r'(a+)+b', 'a' * 60)
"""

# Children and grandchildren that wait, one of them in a session of its own.
PARENT = f"""
{SIGN}
import subprocess, sys, time
sleeper = [sys.executable, '-ISc', {SLEEPER!r}]
subprocess.Popen(sleeper)
subprocess.Popen(sleeper, start_new_session=True)
while len(os.listdir(os.environ['TREE'])) < 3:
    time.sleep(0.005)
open(os.environ['TREE'] + '/ready', 'w').close()
time.sleep(600)
"""

KEEPER = """
import asyncio, os, sys
from datetime import timedelta
from tenure.runtime.guard.guard_state import boottime
from tenure.runtime.guarding import Guard
marker, trust, freeze_max, how, tree, code = sys.argv[1:]
async def beat(guard):
    while True:
        if not guard.is_frozen:
            guard.trust_until(boottime() + float(trust))
        await asyncio.sleep(0.05)
async def obey(guard):
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        if line == "thaw\\n":
            guard.trust_until(boottime() + float(trust))
            print("thawed", await guard.thaw(), flush=True)
async def main():
    guard = await Guard.start(
        marker=marker, freeze_max=timedelta(seconds=float(freeze_max)), use_cgroups=how == "cgroup"
    )
    guard.on_exit = lambda pid, ended: print("exit", pid, ended, flush=True)
    guard.trust_until(boottime() + float(trust))
    env = {"TREE": tree, "PATH": os.environ["PATH"]}
    runner = await guard.spawn([sys.executable, "-ISc", code], env=env)
    print(guard.pid, runner, flush=True)
    beating = asyncio.create_task(beat(guard))
    await obey(guard)
asyncio.run(main())
"""


def in_loop(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Run an asynchronous test in a loop of its own."""

    @wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


def until(condition: Callable[[], object], patience: float = 20.0) -> None:
    """Wait for a condition, and fail if it does not come."""
    end = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < end, "what was waited for did not come"
        time.sleep(0.005)


async def freeze(guard: Guard) -> None:
    """Let the deadline pass until all runners are frozen, then trust the keeper again."""
    guard.trust_until(boottime())
    await until_async(lambda: guard.is_frozen)
    guard.trust_until(boottime() + HOUR)


async def until_async(condition: Callable[[], object], patience: float = 20.0) -> None:
    end = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < end, "what was waited for did not come"
        await asyncio.sleep(0.005)


def is_alive(pid: int) -> bool:
    return processes.is_alive(pid)


def marked(marker: str) -> list[int]:
    return [
        pid
        for pid in processes.all_pids()
        if processes.carries(pid, processes.WORKER, marker)
        or processes.carries(pid, processes.GUARD, marker)
    ]


class Tree:
    """The processes that signed in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    @property
    def pids(self) -> list[int]:
        return [int(path.name) for path in self.folder.iterdir() if path.name.isdigit()]

    @property
    def is_ready(self) -> bool:
        return (self.folder / "ready").exists()

    @property
    def alive(self) -> list[int]:
        return [pid for pid in self.pids if is_alive(pid)]

    @property
    def states(self) -> set[str]:
        return {processes.state(pid) for pid in self.pids}

    @property
    def env(self) -> dict[str, str]:
        return {"TREE": str(self.folder), "PATH": os.environ["PATH"]}


class Ground:
    """A marker, folders for trees, and at the end the certainty that nothing lives on."""

    def __init__(self, folder: Path, how: str) -> None:
        self.folder = folder
        self.how = how
        self.marker = f"test-{uuid4().hex[:12]}"
        self.trees: list[Tree] = []
        self.exits: dict[int, Exit] = {}

    def tree(self) -> Tree:
        self.trees.append(Tree(self.folder / f"tree{len(self.trees)}"))
        return self.trees[-1]

    async def guard(self, freeze_max: float = HOUR, trust: float = HOUR) -> Guard:
        guard = await Guard.start(
            marker=self.marker,
            freeze_max=timedelta(seconds=freeze_max),
            use_cgroups=self.how == "cgroup",
        )
        assert guard.kills_by == self.how
        guard.on_exit = self.exits.__setitem__
        guard.trust_until(boottime() + trust)
        return guard

    async def runner(self, guard: Guard, code: str, tree: Tree) -> int:
        return await guard.spawn(python(code), env=tree.env)

    def keeper(
        self, code: str, tree: Tree, trust: float = HOUR, freeze_max: float = HOUR
    ) -> "Keeper":
        options = [self.marker, str(trust), str(freeze_max), self.how, str(tree.folder), code]
        return Keeper(options)

    def living(self) -> list[int]:
        return marked(self.marker) + [pid for tree in self.trees for pid in tree.alive]

    def leave(self) -> None:
        """Nothing may be left; what is left is killed, and told."""
        end = time.monotonic() + 5
        while self.living() and time.monotonic() < end:
            time.sleep(0.01)
        left = {pid: processes.command(pid) for pid in self.living()}
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, SIGKILL)
        assert not left
        group = cgroups.of_worker(self.marker)
        assert group is None or not Path(group.folder).exists()


class Keeper:
    """A small keeper in a process of its own, with one runner."""

    def __init__(self, options: list[str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(KEEPER), *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.guard, self.runner = map(int, self.hear().split())

    def hear(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def send(self, what: int) -> None:
        self.process.send_signal(what)

    def __enter__(self) -> "Keeper":
        return self

    def __exit__(self, *_error: object) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()


def python(code: str) -> list[str]:
    return [sys.executable, "-ISc", textwrap.dedent(code)]


def ways() -> Iterator[str]:
    """How trees can be killed on this machine."""
    yield "walk"
    group = cgroups.open_for(f"probe-{uuid4().hex[:12]}")
    if group is not None:
        group.remove()
        yield "cgroup"
