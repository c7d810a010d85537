"""Measure how fast a runner starts, by fork and by spawn, and how soon ``tenure up`` is ready."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

from bench.figures import Figure, console, figure
from bench.working import PATIENCE, ROOT, Bench
from tenure.runtime.guard.guard_state import boottime
from tenure.runtime.guarding import Guard
from tenure.runtime.keeper.runs.runner_launcher import RunnerLauncher

APPS = {"nothing": "bench.idle_app:app", "SQLAlchemy and httpx": "bench.heavy_app:app"}
_MINUTE = timedelta(minutes=1)
_READY = (" runs ", "serving")


def start(bench: Bench) -> Iterator[Figure]:
    """Measure from the request until a runner has imported the app, and the same for all of it."""
    for imports, app in APPS.items():
        for how, goal in (("fork", 0.05), ("spawn", None)):
            console.print(f"starts by {how} of an app that imports {imports}")
            taken = asyncio.run(_starts(app, how, bench.amounts.kills))
            name = f"start of a runner by {how}, app imports {imports}"
            yield figure(f"{name}: p50", taken, "s", at_most=goal)
            yield figure(f"{name}: longest of {len(taken)}", max(taken), "s")
    yield from _up(bench)
    yield from _commands(bench)


async def _starts(app: str, how: str, n: int) -> list[float]:
    taken = []
    async with await Guard.start(marker=f"bench-{uuid4()}", freeze_max=_MINUTE) as guard:
        guard.trust_until(boottime() + 3600)
        launcher = RunnerLauncher(uuid4(), guard, app, None, _MINUTE)
        first = await launcher.first(may_fork=how == "fork")
        await launcher.choose(first, how)
        for _ in range(n):
            began = time.perf_counter()
            runner = await launcher.spawn()
            taken.append(time.perf_counter() - began)
            await guard.kill(runner.pid)
    return taken


def _up(bench: Bench) -> Iterator[Figure]:
    """Measure ``tenure up`` on a folder that has a database already."""
    folder = bench.folder / "up"
    _up_once(folder)
    taken = [_up_once(folder) for _ in range(bench.amounts.rounds)]
    yield figure(
        "tenure up to worker and API ready, on an existing folder", taken, "s", at_most=2.5
    )


def _commands(bench: Bench) -> Iterator[Figure]:
    """Measure commands of the CLI, which are mostly imports."""
    with bench.server.database() as url:
        for words in (("--help",), ("job", "list", "--url", url)):
            taken = [_python("-m", "tenure", *words) for _ in range(bench.amounts.commands)]
            name = " ".join(("tenure", *words)).removesuffix(f" --url {url}")
            yield figure(name, taken, "s", at_most=0.25)
    taken = [_python("-c", "from tenure import Tenure") for _ in range(bench.amounts.commands)]
    yield figure("from tenure import Tenure", taken, "s", at_most=0.2)


def _python(*words: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, check=True)  # noqa: S603
    return time.perf_counter() - began


def _up_once(folder: Path) -> float:
    ours = {name: value for name, value in os.environ.items() if not name.startswith("TENURE_")}
    env = {**ours, "TENURE_FOLDER": str(folder), "PYTHONUNBUFFERED": "1"}
    began = time.perf_counter()
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "tenure", "up", APPS["nothing"], "--port", "0"],
        cwd=ROOT,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        text=True,
    )
    waiting = set(_READY)
    lines = []
    try:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            waiting -= {word for word in waiting if re.search(word, line, re.IGNORECASE)}
            if not waiting:
                return time.perf_counter() - began
        raise RuntimeError(f"tenure up ended before it was ready:\n{''.join(lines)}")
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
