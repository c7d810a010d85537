"""Follow the README of an example, as a user would, in a copy of the examples."""

import shutil
import socket
import subprocess
from pathlib import Path

from tenure import Job
from tests.docs.reading import Block, blocks
from tests.docs.sessions import PATIENCE, Sessions
from tests.workers import ROOT, eventually


def follow(example: str, folder: Path) -> int | None:
    """Write the files and type the commands of a README; return how ``tenure up`` ended."""
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=_MADE)
    page = ROOT / "examples" / example / "README.md"
    with ExampleSessions(folder) as sessions:
        for block in blocks(page):
            sessions.follow(Block(block.language, sessions.with_free_port(block.text)))
    return sessions.exit_code


_MADE = shutil.ignore_patterns("__pycache__", ".tenure")


class ExampleSessions(Sessions):
    """Run commands; those that end with "&" run in the background until the last one is done."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._background: list[subprocess.Popen[bytes]] = []
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]

    def with_free_port(self, text: str) -> str:
        """Replace the port of the READMEs by a free one."""
        return text.replace("8765", str(self._port))

    def _type(self, command: str, shown: str) -> None:
        if command.endswith(" &"):
            self._start_in_background(command.removesuffix(" &"))
        else:
            super()._type(command, shown)

    def _start_in_background(self, command: str) -> None:
        words = ["/bin/sh", "-c", f"exec {command}"]
        quiet = subprocess.DEVNULL
        self._background.append(
            subprocess.Popen(words, cwd=self._folder, env=self._env, stdout=quiet, stderr=quiet)
        )
        eventually(self._answers, f"{command} listens", PATIENCE)

    def _answers(self) -> bool:
        with socket.socket() as caller:
            return caller.connect_ex(("127.0.0.1", self._port)) == 0

    def _read(self) -> None:
        """Wait until every job has started and every running job shows progress."""
        if self._up is not None:
            eventually(lambda: all(map(_moves, self._jobs.store.list_jobs())), "begun", PATIENCE)

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        for process in self._background:
            process.kill()
            process.wait()
        super().__exit__(kind, *rest)


def _moves(job: Job) -> bool:
    return job.status != "queued" and (job.status != "running" or job.progress is not None)
