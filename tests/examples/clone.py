"""A clone of the repository in which the README of an example is followed, word for word."""

import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from tests.docs.reading import blocks
from tests.docs.sessions import LEFT_OUT, PATIENCE, Sessions, _lines
from tests.workers import ROOT, eventually

_ALIAS = re.compile(r'alias (\w+)="(.*)"')
_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")


class Clone(Sessions):
    """Types the commands of a README; ``serves`` begins the command that has its own terminal.

    ``is_ready`` holds when somebody who takes their time would type the next command, and
    ``started`` is in the output of a server that can be used.
    """

    def __init__(
        self, folder: Path, serves: str, started: str, is_ready: Callable[[], bool]
    ) -> None:
        super().__init__(folder)
        (folder / "examples").symlink_to(ROOT / "examples")
        self._serves = serves
        self._started = started
        self._is_ready = is_ready
        self._aliases: dict[str, str] = {}
        self._address = ""

    def follow_page(self, page: Path) -> None:
        for block in blocks(page):
            if block.language in ("console", "python"):
                self.follow(block)

    def _type(self, command: str, shown: str) -> None:
        if alias := _ALIAS.fullmatch(command):
            self._aliases[alias[1]] = alias[2]
            return
        if command.startswith(LEFT_OUT):
            return
        name, _, rest = command.partition(" ")
        typed = f"{self._aliases.get(name, name)} {rest}"
        said = self._start(typed) if command.startswith(self._serves) else self._run(typed)
        assert _agrees(shown, said), f"$ {command}\nsays:\n{said}\nand not:\n{shown}"

    def _run(self, command: str) -> str:
        return super()._run(_ADDRESS.sub(self._address, command))

    def _read(self) -> None:
        if self._up is not None:
            eventually(self._is_ready, "what was started is at work", PATIENCE)

    def _start(self, command: str) -> str:
        log = self._folder / "server.log"
        with log.open("wb") as output:
            self._up = subprocess.Popen(
                [*shlex.split(command), "--port", "0"],
                cwd=self._folder,
                env={**self._env, "PYTHONUNBUFFERED": "1"},
                stdout=output,
                stderr=output,
            )
        eventually(lambda: self._started in log.read_text(), f"{command} in {log}", PATIENCE)
        with suppress(StopIteration):
            self._address = next(self._addresses(log.read_text()))
        return log.read_text()

    @staticmethod
    def _addresses(text: str) -> Iterator[str]:
        return (found[0] for found in _ADDRESS.finditer(text))


def _agrees(shown: str, said: str) -> bool:
    """Tell whether an answer is the one shown; "..." is any lines, or any part of a line."""
    if not shown:
        return True
    lines = [
        r"(?:.*\n)*?" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + r"\n"
        for line in _lines(shown)
    ]
    return re.fullmatch("".join(lines), "".join(f"{line}\n" for line in _lines(said))) is not None
