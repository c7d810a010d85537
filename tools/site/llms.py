"""``llms.txt`` and ``llms-full.txt``: the documentation for language models."""

import re
from pathlib import Path

from tools.site.navigation import FIRST, Section, title

_HEAD = """# Tenure

> A job orchestrator for Python on PostgreSQL: leases, steps, limits, streams, and stops that are
> confirmed only after the code is gone.

Each page is Markdown. All pages in one file: [llms-full.txt](llms-full.txt).
"""


def llms_short(found: list[Section], docs: Path) -> str:
    """Return the list of the pages with the first sentence of each."""
    text = _HEAD
    for section in found:
        text += f"\n## {section.name}\n\n"
        for page in section.pages:
            if page != "index.md":
                text += f"- [{title(docs / page)}]({page}){_summary(docs / page)}\n"
    return text


def llms_full(found: list[Section], docs: Path) -> str:
    """Return all pages in the order of the navigation, but not the records of decisions."""
    pages = [page for it in found for page in it.pages if it.name not in (FIRST, "Decisions")]
    pages = [*found[0].pages[1:], *pages]
    return "\n\n".join(f"<!-- {page} -->\n\n{(docs / page).read_text()}" for page in pages)


def _summary(page: Path) -> str:
    """Return ": " and the first sentence of a page, without links and marks; "" if it has none."""
    text = re.sub(r"<!--.*?-->|^#[^\n]*|^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    paragraphs = [part.strip() for part in text.split("\n\n") if part.strip()]
    prose = next((it for it in paragraphs if it[0] not in "|<-!*"), "")
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)|[`*]", r"\1", prose.replace("\n", " "))
    first, _, _ = f"{plain} ".partition(". ")
    return f": {first.strip(' .:')}." if plain else ""
