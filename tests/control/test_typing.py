"""What a type checker says of tasks and handles: every mistake, and nothing else."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
SNIPPET = HERE / "typed_tasks.txt"  # no module: its mistakes are not ours

SAID = re.compile(r"tasks\.py:(\d+):(?:\d+:)? (\w+): (.*?)(?:  \[([\w-]+)\])?")
REVEALED = re.compile(r'Revealed type is "(.*)"')


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[int, str, str, str | None]]:
    """Line, severity, message and code of everything mypy says of the snippet."""
    module = tmp_path_factory.mktemp("typing") / "tasks.py"
    module.write_text(SNIPPET.read_text())
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", str(module)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.stderr == ""
    lines = [SAID.fullmatch(line.rpartition("/")[2]) for line in done.stdout.splitlines()]
    return [(int(m[1]), m[2], m[3], m[4]) for m in lines if m]


def expected(word: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(SNIPPET.read_text().splitlines(), 1):
        if f"  # {word}: " in line:
            yield number, line.partition(f"  # {word}: ")[2]


def short(kind: str) -> str:
    """A type without the modules of its parts, which are not what is claimed."""
    return re.sub(r"[\w.]+\.(?=\w)", "", kind).replace("def ", "")


def test_exactly_the_mistakes_are_errors(said: list[tuple[int, str, str, str | None]]) -> None:
    found: dict[int, set[str | None]] = {}
    for line, severity, _, code in said:
        if severity == "error":
            found.setdefault(line, set()).add(code)
    assert found == {line: set(codes.split(", ")) for line, codes in expected("error")}


def test_every_type_is_what_it_should_be(said: list[tuple[int, str, str, str | None]]) -> None:
    revealed = {
        line: short(match[1])
        for line, _, message, _ in said
        if (match := REVEALED.search(message)) is not None
    }
    assert revealed == dict(expected("reveal"))
