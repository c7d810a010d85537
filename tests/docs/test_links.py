"""Every link leads somewhere, and every page can be reached."""

from pathlib import Path

import pytest
from tools import links

from tests.workers import ROOT


def test_every_link_leads_to_an_existing_page_and_heading() -> None:
    assert [f"{page.name}: {link}" for page in links.pages() for link in links.broken(page)] == []


def test_every_page_can_be_reached_from_the_map() -> None:
    assert links.unreached() == []


def test_the_index_lists_every_decision() -> None:
    listed = (ROOT / "docs" / "index.md").read_text()
    pages = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    assert [page.name for page in pages if f"(decisions/{page.name})" not in listed] == []


@pytest.mark.parametrize(
    "link", ["[x](nowhere.md)", "[`x`](#nowhere)", "![x](no.png)", '<img src="no.png" width="2">']
)
def test_a_link_that_leads_nowhere_is_noticed(link: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# A page\n\nSee [this](#a-page), [that](https://example.org) and {link}.\n")
    assert len(list(links.broken(page))) == 1


def test_links_inside_code_are_ignored(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# Things `done` here\n\n`[x](y.md)` [to](#things-done-here)\n\n```md\n[x](y)\n```\n"
    )
    assert list(links.broken(page)) == []


def test_the_anchor_of_a_repeated_heading_has_a_number(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One\n\n## Same\n\n## Same\n\n```sh\n# no heading\n```\n")
    assert links.anchors(page) == {"one", "same", "same-1"}
