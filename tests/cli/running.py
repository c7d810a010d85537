"""The command line in tests: in this process, as a process, and in a terminal."""

import fcntl
import json
import os
import re
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from tenure.cli.main import app
from tests.workers import ROOT

PROGRAM = typer.main.get_command(app)  # made once: it takes a while
COMMAND = Path(sys.executable).with_name("tenure")
GOLDEN = Path(__file__).parent / "golden"
UPDATE = "TENURE_TEST_UPDATE_GOLDEN"  # set, the golden files are rewritten

_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True)
class Done:
    """What a command came to."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def document(self) -> Any:
        """The one JSON document that it printed."""
        assert self.code == 0, self.err
        return json.loads(self.out)

    @property
    def documents(self) -> list[Any]:
        """The lines of its stream."""
        return [json.loads(line) for line in self.lines]

    @property
    def rows(self) -> list[list[str]]:
        """The cells of a table, without its heads."""
        return [re.split(r" {2,}", line) for line in self.lines[1:]]

    def sentence(self, code: int) -> str:
        """The one sentence with which it was refused."""
        assert self.code == code, f"{self.code}: {self.err}{self.out}"
        [line] = self.err.splitlines()
        assert line.startswith("tenure: ")
        return line.removeprefix("tenure: ")

    def last_sentence(self, code: int) -> str:
        """The sentence with which a worker was refused, after what it may have logged before."""
        assert "Traceback" not in self.err
        return Done(self.code, self.out, self.err.splitlines()[-1]).sentence(code)

    def refusal(self, code: int) -> tuple[str, str]:
        """The type and the sentence with which it was refused, as JSON."""
        assert self.code == code, f"{self.code}: {self.err}{self.out}"
        error = json.loads(self.err)["error"]
        assert set(error) == {"type", "message"}
        return error["type"], error["message"]


class Cli:
    """``tenure``, on one database, in this process."""

    def __init__(self, url: str, **env: str) -> None:
        self._env = {"TENURE_DATABASE_URL": url, "COLUMNS": "100", **env}

    def __call__(self, *words: str | int, said: str | None = None, **env: str) -> Done:
        cleared = {name: None for name in os.environ if name.startswith("TENURE_")}
        made: Mapping[str, str | None] = {**cleared, **self._env, **env}
        with CliRunner().isolation(input=said, env=made) as (out, err, _):
            with pytest.raises(SystemExit) as end:
                PROGRAM.main([str(word) for word in words], "tenure")
            sys.stdout.flush()
            sys.stderr.flush()
            code = end.value.code
            assert isinstance(code, int)
            return Done(code, out.getvalue().decode(), err.getvalue().decode())

    def json(self, *words: str | int) -> Any:
        return self(*words, "--json").document


def process(url: str, *words: str, **env: str) -> Done:
    """``tenure`` as a process, with pipes."""
    done = subprocess.run(
        [COMMAND, *words], check=False, capture_output=True, env=_environment(url, env), timeout=60
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


class Running:
    """``tenure`` as a process, while it runs: what it has printed until now, and its end."""

    def __init__(self, process: "subprocess.Popen[bytes]", screen: int) -> None:
        self.process = process
        self._screen = screen
        self.raw = ""

    @property
    def text(self) -> str:
        """All that was ever shown, without colours and movements."""
        return _ESCAPE.sub("", self.raw).replace("\r", "")

    def shows(self, text: str | Callable[[], bool], within: float = 30.0) -> None:
        until = time.monotonic() + within
        while not (text() if callable(text) else text in self.text):
            assert time.monotonic() < until, f"not shown: {text}\n{self.raw!r}"
            self._read()

    def types(self, keys: str) -> None:
        os.write(self._screen, keys.encode())

    def ends(self, within: float = 30.0) -> int:
        until = time.monotonic() + within
        while self.process.poll() is None:
            assert time.monotonic() < until, f"still there:\n{self.raw!r}"
            self._read()
        self._read()
        return self.process.returncode

    def _read(self) -> None:
        os.set_blocking(self._screen, False)
        try:
            while piece := os.read(self._screen, 65536):
                self.raw += piece.decode()
        except BlockingIOError:
            time.sleep(0.01)
        except OSError:
            return  # the last process that had it open has ended
        finally:
            os.set_blocking(self._screen, True)


@contextmanager
def piped(url: str, *words: str, **env: str) -> Iterator[Running]:
    """Its output goes into a pipe."""
    screen, far_end = os.pipe()
    started = subprocess.Popen(
        [COMMAND, *words],
        stdin=subprocess.DEVNULL,
        stdout=far_end,
        stderr=far_end,
        env=_environment(url, env),
    )
    os.close(far_end)
    with _watched(started, screen) as running:
        yield running


@contextmanager
def terminal(
    url: str, *words: str, width: int = 100, env: Mapping[str, str] | None = None
) -> Iterator[Running]:
    """A session of its own, so that Ctrl-C means what it means to a person."""
    screen, far_end = os.openpty()
    fcntl.ioctl(far_end, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    own = "import os, sys, fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0)"
    heard = "import signal; signal.signal(2, signal.SIG_DFL)"  # ignored, if a shell's & began us
    begin = f"{own}; {heard}; os.execv(sys.argv[1], sys.argv[1:])"
    started = subprocess.Popen(
        [sys.executable, "-c", begin, COMMAND, *words],
        stdin=far_end,
        stdout=far_end,
        stderr=far_end,
        env=_environment(url, {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **(env or {})}),
        start_new_session=True,
        cwd=ROOT,
    )
    os.close(far_end)
    with _watched(started, screen) as running:
        yield running


@contextmanager
def _watched(started: "subprocess.Popen[bytes]", screen: int) -> Iterator[Running]:
    try:
        yield Running(started, screen)
    finally:
        if started.poll() is None:
            started.kill()
        started.wait()
        os.close(screen)


def golden(name: str, text: str) -> None:
    """The text is what it was when somebody last looked at it and found it good."""
    path = GOLDEN / f"{name}.txt"
    if os.environ.get(UPDATE):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert path.exists(), f"nobody has looked at {name}; set {UPDATE}=1 and look"
    assert text == path.read_text(), f"{name} has changed; set {UPDATE}=1, and look at it"


def _environment(url: str, more: Mapping[str, str]) -> dict[str, str]:
    kept = {name: it for name, it in os.environ.items() if not name.startswith("TENURE_")}
    for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR"):
        kept.pop(name, None)
    return {**kept, "TENURE_DATABASE_URL": url, **more}
