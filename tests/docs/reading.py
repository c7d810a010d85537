"""The pages of the documentation, and the blocks of code in them."""

import re
from dataclasses import dataclass
from pathlib import Path

from tests.workers import ROOT

README = ROOT / "README.md"
TUTORIAL = ROOT / "docs" / "tutorial.md"
AGENT_TUTORIAL = ROOT / "docs" / "tutorial-agent.md"
TASKS = ROOT / "docs" / "tasks.md"
CANCELLING = ROOT / "docs" / "cancelling.md"
PAGES = [README, *sorted((ROOT / "docs").rglob("*.md"))]

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# (\w+)\.py\n")


@dataclass(frozen=True)
class Block:
    language: str
    text: str

    @property
    def file(self) -> str | None:
        """The file that it is a part of, if it begins with its name."""
        named = _FILE.match(self.text) if self.language == "python" else None
        return named[1] if named else None


def blocks(page: Path) -> list[Block]:
    return [Block(language, text) for language, text in _BLOCK.findall(page.read_text())]


def code(page: Path, language: str) -> list[str]:
    return [block.text for block in blocks(page) if block.language == language]


def modules(page: Path) -> dict[str, str]:
    """The files of a page: blocks that begin with the same name are one."""
    found: dict[str, str] = {}
    for block in blocks(page):
        if block.file is not None:
            found[block.file] = f"{found.get(block.file, '')}{block.text}\n\n"
    return found


def write(page: Path, folder: Path) -> None:
    for name, text in modules(page).items():
        (folder / f"{name}.py").write_text(text)
