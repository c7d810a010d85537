"""A peer at work: its program called, its workers started and ended."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import psycopg

from bench.peers.crowding import CROWDS, SAMPLE
from bench.peers.environments import Environment
from bench.peers.listing import Peer
from bench.peers.programs.notes import Notes
from bench.peers.servers import Servers
from bench.processes import pss
from bench.scale.tables import copy_jobs
from bench.working import ROOT

_CALL = 600.0  # seconds, at most, for one call of a program
_BEGINS = 60.0  # for a worker to run its first job


class Failed(Exception):
    """The peer did not do what was asked of it; the message has the end of what it printed."""


@dataclass(frozen=True)
class Driver:
    """One peer in one fresh place."""

    peer: Peer
    environment: Environment
    servers: Servers
    url: str
    folder: Path  # for logs
    notes: Notes

    @classmethod
    def begin(
        cls, peer: Peer, environment: Environment, servers: Servers, folder: Path, notes: Notes
    ) -> "Driver":
        notes.forget()
        driver = cls(peer, environment, servers, servers.fresh(peer), folder, notes)
        driver.call("prepare")
        return driver

    def call(self, *words: object) -> Any:
        """What the program tells."""
        return self.finish(self.launch(*words))

    def launch(self, *words: object) -> "subprocess.Popen[str]":
        return subprocess.Popen(  # noqa: S603
            [*self.environment.command, *map(str, words)],
            cwd=ROOT,
            env=self._env("0"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def finish(self, process: "subprocess.Popen[str]", within: float = _CALL) -> Any:
        try:
            said, complaints = process.communicate(timeout=within)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise Failed(f"no answer within {within:g} s") from None
        if process.returncode != 0:
            raise Failed(complaints.strip()[-600:] or f"exit code {process.returncode}")
        lines = said.strip().splitlines()
        return json.loads(lines[-1]) if lines else None

    def fill(self, n: int, job: str = "noop") -> None:
        self.call("enqueue-many", job, n)
        self.servers.settle(self.peer)

    def crowd(self, n: int) -> None:
        """So many jobs that are over and as many that wait, beside those that are there."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            if self.peer.program == "tenure":
                copy_jobs(connection, n)
                self.fill(n)
            elif crowd := CROWDS.get(self.peer.program):
                self.fill(SAMPLE)
                crowd.copy(connection, n)
            else:
                self.fill(n)  # its storage is more than rows, and keeps none that is over for long
        self.servers.settle(self.peer)

    @contextmanager
    def workers(self, n: int = 1, after: int = 0, at_once: int = 0) -> Iterator[list["Worker"]]:
        """So many, besides those that are there; each for so many jobs at once, or for more."""
        started: list[Worker] = []
        room = max(self.peer.concurrency, at_once)
        try:
            started.extend(self._start(str(after + number + 1), room) for number in range(n))
            yield started
        finally:
            for worker in started:
                worker.kill()

    def warm(self) -> None:
        """A worker that has run a job."""
        self.call("enqueue", "enter", "warm")
        self.until(lambda: self.notes.first("entered", "warm"), "a first job ran")
        time.sleep(1)

    def until(self, look: Callable[[], Any], what: str, within: float = _BEGINS) -> None:
        end = time.monotonic() + within
        while not look():
            if time.monotonic() > end:
                logs = (log.read_text(errors="replace") for log in self.folder.glob("*.log"))
                raise Failed(f"not within {within:g} s: {what}; {' '.join(logs)[-600:]}")
            time.sleep(0.005)

    def _start(self, number: str, room: int) -> "Worker":
        log = self.folder / f"{self.peer.program}-{number}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(  # noqa: S603
                [*self.environment.command, "worker", str(room)],
                cwd=ROOT,
                env=self._env(number),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        return Worker(process)

    def _env(self, worker: str) -> dict[str, str]:
        ours = {key: value for key, value in os.environ.items() if not key.startswith("TENURE_")}
        return {
            **ours,
            **self.environment.env,
            "BENCH_URL": self.url,
            "BENCH_NOTES": str(self.notes.folder),
            "BENCH_WORKER": worker,
            "TENURE_FOLDER": str(self.folder / "tenure"),
        }


class Worker:
    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process

    @property
    def tree(self) -> list[psutil.Process]:
        try:
            root = psutil.Process(self._process.pid)
            return [root, *root.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    @property
    def memory(self) -> float:
        """MB, of all its processes."""
        return sum(pss(process) for process in self.tree)

    def kill(self) -> None:
        """All of it at once, as when its host is gone."""
        tree = self.tree
        for process in tree:
            try:
                process.send_signal(signal.SIGKILL)
            except psutil.NoSuchProcess:
                continue
        self._process.wait()
        psutil.wait_procs(tree, timeout=10)
