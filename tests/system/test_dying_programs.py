"""A worker beside another program: ``async with app.worker()``."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tenure.runtime.exit_code import ExitCode
from tenure.store.store import Store
from tests.system.scene import Scene
from tests.workers import FAST, PATIENCE, eventually, is_gone

PROGRAM = """
import asyncio, os, signal, sys, time
from pathlib import Path
from tenure import Context, Tenure

app = Tenure()
folder = Path(__file__).parent

@app.task
async def add(a: int, b: int) -> int:
    return a + b

@app.task
async def waits(ctx: Context) -> None:
    (folder / "ran").touch()
    while not (folder / "go").exists():
        await asyncio.sleep(0.02)

def handlers():
    return [signal.getsignal(number) for number in sorted(signal.valid_signals())]

async def main():
    before = handlers()
    async with app.worker(concurrency=5) as worker:
        print("pid", worker.pid, flush=True)
        handle = await add.aenqueue(1, 2)
        print("result", await handle.aresult(timeout="20s"), flush=True)
        job = await waits.aenqueue()
        while not (folder / "ran").exists():
            await asyncio.sleep(0.02)
        print("job", job.id, flush=True)
        print("handlers", "untouched" if handlers() == before else "changed", flush=True)
        if "stay" in sys.argv:
            await asyncio.sleep(3600)
        print("exit", int(await worker.drain(grace=sys.argv[1])), flush=True)
    await app.aclose()

"""
GUARDED = PROGRAM + "if __name__ == '__main__':\n    asyncio.run(main())\n"
UNGUARDED = PROGRAM + "asyncio.run(main())\n"


@pytest.fixture
def scene(database: str, store: Store, tmp_path: Path) -> Scene:
    return Scene(database, store, tmp_path)


class Program:
    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process

    def says(self, what: str) -> str:
        """The rest of the next line, which must begin with this word."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith(what), line + self.errors()
        return line.removeprefix(what).strip()

    def errors(self) -> str:
        self.process.kill()
        return self.process.communicate()[1]


@contextmanager
def program(scene: Scene, code: str, *arguments: str) -> Iterator[Program]:
    place = scene.folder / "service.py"
    place.write_text(code)
    process = subprocess.Popen(
        [sys.executable, str(place), *arguments],
        env={**os.environ, "TENURE_DATABASE_URL": scene.url, **FAST},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield Program(process)
        finally:
            process.kill()


def test_a_worker_beside_a_program_runs_its_jobs_and_touches_no_signal_handler(
    scene: Scene,
) -> None:
    with program(scene, GUARDED, "30s") as service:
        keeper = psutil.Process(int(service.says("pid")))
        assert service.says("result") == "3"
        job = int(service.says("job"))
        assert service.says("handlers") == "untouched"
        (scene.folder / "go").touch()
        assert int(service.says("exit")) == ExitCode.DRAINED
        assert service.process.wait(PATIENCE) == 0
        eventually(lambda: is_gone(keeper))
    scene.completes(job)


def test_a_drain_of_its_own_grace_hands_over_what_does_not_finish(scene: Scene) -> None:
    with program(scene, GUARDED, "6s") as service:
        service.says("pid")
        service.says("result")
        job = int(service.says("job"))
        service.says("handlers")
        assert int(service.says("exit")) == ExitCode.HANDED_OVER
        assert service.process.wait(PATIENCE) == 0
    assert scene.store.show(job).attempt == 0


def test_a_worker_whose_program_is_killed_drains_and_ends(scene: Scene) -> None:
    with program(scene, GUARDED, "stay") as service:
        keeper = psutil.Process(int(service.says("pid")))
        service.says("result")
        job = int(service.says("job"))
        everything = [keeper, *keeper.children(recursive=True)]
        service.process.send_signal(signal.SIGKILL)
        service.process.wait(PATIENCE)
        eventually(lambda: [w for w in scene.store.workers() if w.status == "draining"])
        (scene.folder / "go").touch()
        scene.completes(job)
        eventually(lambda: all(map(is_gone, everything)), "it has left")


def test_a_program_that_starts_its_worker_when_imported_is_told_what_to_do(scene: Scene) -> None:
    with program(scene, UNGUARDED, "1s") as service:
        assert service.process.wait(PATIENCE) != 0
        assert "put it under `if __name__ == '__main__':`" in service.errors()
