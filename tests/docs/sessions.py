"""Two terminals that do what a page says: files are written, commands typed, answers compared."""

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Self

import psycopg

from tenure import Job, Settings, Tenure
from tenure.domain.lifecycle import Reason
from tests.docs.reading import Block
from tests.workers import eventually

# Not for a test to do: it would take minutes, or change the machine.
LEFT_OUT = ("pip install ", "python3 -m venv ", "git clone ", "make ", "export ")
# Short, so that a killed worker is missed soon; long enough for a machine that is busy.
SETTINGS = {"TENURE_LEASE": "6s", "TENURE_BEAT": "1s", "TENURE_RECOVER_EVERY": "500ms"}
# A job of these says nothing on its way.
SILENT = ("jobs.stubborn",)
PATIENCE = 120.0

_VARIES = (
    (r"127\.0\.0\.1:\d+", "127.0.0.1:PORT"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", "WHEN"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", "WHENZ"),
    (r"\b\d+(\.\d+)?(ms|s|m|h)\b", "SOME"),
    (r"\bSOME ago\b|\bnow\b", "AGO"),
    (r"\b\d+%", "SOME"),
    (r"\b\d+ partial results?\b", "SOME partial results"),
    (r"[ \t]+", " "),
)


class Sessions:
    """Somebody who follows a page in an empty folder; ``tenure up`` has a terminal of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        kept = {name: it for name, it in os.environ.items() if not name.startswith("TENURE_")}
        # Another environment than that of the tests, if there is one: `make test-wheel`.
        bin_ = os.environ.get("TENURE_TEST_COMMANDS") or Path(sys.executable).parent
        self._env = {**kept, **SETTINGS, "PATH": f"{bin_}:{kept['PATH']}"}
        self._up: subprocess.Popen[bytes] | None = None
        self._app: Tenure | None = None

    def follow(self, block: Block) -> None:
        if block.file is not None:
            (self._folder / f"{block.file}.py").write_text(block.text)
        elif block.language == "console":
            for command, shown in commands(block.text):
                self._type(command, shown)
        elif block.language == "sql":
            with psycopg.connect(self._jobs.url) as connection:
                for statement in block.text.split(";\n"):
                    connection.execute(statement.encode())
        else:
            raise AssertionError(f"nobody runs this: {block.text}")

    def _type(self, command: str, shown: str) -> None:
        if command.startswith(LEFT_OUT):
            return
        said = self._start(command) if command.startswith("tenure up") else self._run(command)
        assert agrees(shown, said), f"$ {command}\nsays:\n{said}\nand not:\n{shown}"

    def _run(self, command: str) -> str:
        self._read()
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=self._folder,
            env=self._env,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
        return done.stdout

    def _start(self, command: str) -> str:
        log = self._folder / "up.log"
        with log.open("wb") as output:
            self._up = subprocess.Popen(
                [*command.split(), "--port", "0"],
                cwd=self._folder,
                env=self._env,
                stdout=output,
                stderr=output,
            )
        eventually(lambda: " runs " in log.read_text(), f"{command} in {log}", PATIENCE)
        return log.read_text()

    def _read(self) -> None:
        """People take their time between two commands: what was enqueued has begun by then."""
        if self._up is not None:
            eventually(
                lambda: all(map(_has_begun, self._jobs.store.list_jobs())), "begun", PATIENCE
            )

    @property
    def _jobs(self) -> Tenure:
        if self._app is None:
            self._app = Tenure(settings=Settings(folder=self._folder / ".tenure"))
        return self._app

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._app is not None:
            self._app.close()
        if self._up is None:
            return
        if kind is None:
            self._up.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                self._up.wait(PATIENCE)
        self._up.kill()
        self._up.wait()

    @property
    def exit_code(self) -> int | None:
        """How ``tenure up`` ended."""
        return self._up.returncode if self._up is not None else None


def _has_begun(job: Job) -> bool:
    is_asking = job.waiting is Reason.ANSWER
    waits = job.status in ("pending", "queued", "waiting") and not is_asking
    mute = job.status == "running" and job.progress is None and job.task not in SILENT
    return not waits and not mute


def commands(text: str) -> list[tuple[str, str]]:
    """What is typed in a terminal, and what it answers."""
    found: list[tuple[str, str]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line.removeprefix("$ "), ""))
        else:
            command, shown = found[-1]
            found[-1] = (command, f"{shown}{line}\n")
    return found


def agrees(shown: str, said: str) -> bool:
    """Whether an answer is the one that a page shows, but for times; "..." is any lines."""
    if not shown:
        return True
    lines = [r"(?:.*\n)*?" if line == "..." else f"{re.escape(line)}\n" for line in _lines(shown)]
    return re.fullmatch("".join(lines), "".join(f"{line}\n" for line in _lines(said))) is not None


def _lines(text: str) -> list[str]:
    for pattern, instead in _VARIES:
        text = re.sub(pattern, instead, text)
    lines = [line.strip() for line in text.strip().splitlines()]
    # A machine that is busy may give a job back before it began; nothing is spent.
    return [line for line in lines if not re.fullmatch(r"\d+\. released after SOME", line)]
