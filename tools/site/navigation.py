"""The navigation of the site, read from the index of the documentation, so that both agree."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_LINK = re.compile(r"\[[^\]]*\]\(([^)\s#:]+\.md)\)")  # to a page as a whole
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
_ROW = re.compile(r"^\| (?P<label>[^|]+?) \| (?P<links>.+) \|$|^(?P<line>[^|\n].*)$", re.MULTILINE)
FIRST = "Start"  # the section of the pages that are named above the first heading
GUIDES = "How-to guides"  # guides that the index does not name are added to this section


@dataclass(frozen=True)
class Section:
    name: str
    groups: list[tuple[str, list[str]]] = field(default_factory=list)  # label or "", and pages

    @property
    def pages(self) -> list[str]:
        return [page for _, pages in self.groups for page in pages]

    def entry(self, docs: Path) -> dict[str, object]:
        """Return the section as the site builder takes it."""
        entries: list[object] = []
        for label, pages in self.groups:
            titles = [{title(docs / page): page} for page in pages]
            entries += [{label: titles}] if label and len(titles) > 1 else titles
        return {self.name: entries}


def sections(docs: Path) -> list[Section]:
    """Return the sections of the index with the pages that each names first."""
    parts = _HEADING.split((docs / "index.md").read_text())
    texts = dict(zip([FIRST, *parts[1::2]], parts[0::2], strict=True))
    seen = {"index.md"}
    found = [Section(name, list(_rows(text, seen))) for name, text in texts.items()]
    guides = {f"how-to/{path.name}" for path in (docs / "how-to").glob("*.md")}
    for section in found:
        if section.name == FIRST:
            section.groups.insert(0, ("", ["index.md"]))
        if section.name == GUIDES:
            section.groups.append(("More", sorted(guides - seen)))
    return found


def _rows(text: str, seen: set[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the new pages of each row of a table, with its label, and of each other line."""
    for row in _ROW.finditer(text):
        linked = dict.fromkeys(_LINK.findall(row["links"] or row["line"] or ""))
        pages = [page for page in linked if page not in seen and not page.startswith("..")]
        seen.update(pages)
        if pages:
            yield row["label"] or "", pages


def title(page: Path) -> str:
    """Return the first heading of a page, as text."""
    return re.sub(r"[`*]", "", page.read_text().partition("\n")[0].removeprefix("# "))
