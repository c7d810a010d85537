"""Check that every link leads to an existing file, and to a heading in it."""

import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent

_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)|<(?:img|a) [^>]*(?:src|href)=\"([^\"]+)\"")
_CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def pages() -> list[Path]:
    return [
        *sorted(ROOT.glob("*.md")),
        *sorted((ROOT / "docs").rglob("*.md")),
        *sorted((ROOT / "examples").rglob("*.md")),
    ]


def broken(page: Path) -> Iterator[str]:
    """Yield the links of a page that lead nowhere; links to other sites are not checked."""
    for found in _LINK.finditer(_CODE.sub("", page.read_text())):
        link = found[1] or found[2]
        if "://" in link or link.startswith("mailto:"):
            continue
        path, _, anchor = link.partition("#")
        place = (page.parent / path).resolve() if path else page
        if not place.exists() or (anchor and anchor not in anchors(place)):
            yield link


@cache
def anchors(page: Path) -> frozenset[str]:
    """Return the anchors of the headings of a page; the second of a name is ``name-1``."""
    if page.suffix != ".md":
        return frozenset()
    found: list[str] = []
    for heading in _HEADING.findall(
        re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    ):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        earlier = sum(
            it == name or re.fullmatch(rf"{re.escape(name)}-\d+", it) is not None for it in found
        )
        found.append(f"{name}-{earlier}" if earlier else name)
    return frozenset(found)


def unreached() -> list[Path]:
    """Return the pages that cannot be reached from the index."""
    start = ROOT / "docs" / "index.md"
    seen, left = {start}, [start]
    while left:
        page = left.pop()
        for found in _LINK.finditer(page.read_text()):
            link = (found[1] or found[2]).partition("#")[0]
            place = (page.parent / link).resolve()
            if link.endswith(".md") and "://" not in link and place.exists() and place not in seen:
                seen.add(place)
                left.append(place)
    return [page for page in sorted((ROOT / "docs").rglob("*.md")) if page not in seen]


def main() -> int:
    complaints = [
        f"{page.relative_to(ROOT)}: {link} leads nowhere"
        for page in pages()
        for link in broken(page)
    ]
    complaints += [f"{page.relative_to(ROOT)}: no page leads here" for page in unreached()]
    for complaint in complaints:
        sys.stderr.write(f"{complaint}\n")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
