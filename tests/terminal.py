"""A terminal for tests, driven as a person would: keys in, a screen out."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from tests.workers import eventually

TMUX = shutil.which("tmux")


class Terminal:
    def __init__(self, socket: str) -> None:
        self._socket = socket

    def types(self, text: str) -> None:
        """A line, and Enter."""
        self._tmux("send-keys", "-l", text)
        self.presses("Enter")

    def presses(self, key: str) -> None:
        self._tmux("send-keys", key)

    def resizes(self, width: int, height: int) -> None:
        self._tmux("resize-window", "-x", str(width), "-y", str(height))

    @property
    def screen(self) -> str:
        return self._tmux("capture-pane", "-p")

    @property
    def coloured(self) -> str:
        """The screen with its escapes."""
        return self._tmux("capture-pane", "-e", "-p")

    def shows(self, pattern: str, within: float = 60.0) -> str:
        """The screen, as soon as this is on it."""
        wanted = re.compile(pattern, re.MULTILINE)

        def look() -> str:
            screen = self.screen
            return screen if wanted.search(screen) else ""

        try:
            return eventually(look, pattern, within)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.screen}") from None

    def _tmux(self, *words: str) -> str:
        assert TMUX is not None
        done = subprocess.run(
            [TMUX, "-L", self._socket, *words], capture_output=True, text=True, timeout=20
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@contextmanager
def terminal(
    folder: Path, environment: Mapping[str, str], width: int = 120, height: int = 40
) -> Iterator[Terminal]:
    """A terminal of its own, with a plain shell in it; nothing of it is left afterwards."""
    assert TMUX is not None
    socket = f"tenure-test-{uuid4()}"
    env = {"PATH": os.environ["PATH"], "TERM": "xterm-256color", "LANG": "C.UTF-8", **environment}
    size = ["-x", str(width), "-y", str(height)]
    subprocess.run(
        [TMUX, "-L", socket, "-f", "/dev/null", "new-session", "-d", *size, "sh"],
        cwd=folder,
        env=env,
        check=True,
        timeout=20,
    )
    try:
        yield Terminal(socket)
    finally:
        subprocess.run([TMUX, "-L", socket, "kill-server"], check=True, timeout=20)
