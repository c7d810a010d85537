"""The documentation site: built strictly, it has every page, and needs no other site to work."""

import json
import re
import shutil
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from subprocess import CalledProcessError

import pytest
from playwright.sync_api import sync_playwright
from tools.site import build as builder
from tools.site.build import build, inside
from tools.site.navigation import sections

from tests.web.dashboard.browser import ARGUMENTS, CHROMIUM, needs_chromium
from tests.workers import ROOT

DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    return build(folder / "site", folder / "staging")


def test_every_page_is_in_the_navigation_once() -> None:
    pages = [page for section in sections(DOCS) for page in section.pages]
    assert sorted(pages) == sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))


def test_a_guide_that_the_index_does_not_name_is_in_the_navigation(tmp_path: Path) -> None:
    (tmp_path / "how-to").mkdir()
    (tmp_path / "how-to" / "new.md").write_text("# New\n")
    (tmp_path / "index.md").write_text("# Index\n\n## How-to guides\n\n")
    [_, guides] = sections(tmp_path)
    assert guides.entry(tmp_path) == {"How-to guides": [{"New": "how-to/new.md"}]}


def test_links_to_other_files_of_the_repository_lead_there() -> None:
    text = inside(
        "[a](../tasks.md) [b](../../deploy/docker) [c](../../README.md#d)", DOCS / "a/b.md"
    )
    root = "https://github.com/tenure-jobs/tenure"
    assert (
        text
        == f"[a](../tasks.md) [b]({root}/tree/main/deploy/docker) [c]({root}/blob/main/README.md#d)"
    )


def test_the_front_page_shows_code_picture_and_table(site: Path) -> None:
    text = (site / "index.md").read_text()
    picture, table = re.search(r"^!\[.+\]\((pictures/.+)\)", text, re.M), "| **Tenure** | yes"
    assert picture
    assert (site / picture[1]).is_file()
    assert text.index("@app.task") < text.index(picture[0]) < text.index(table)


def test_models_find_every_page_that_is_listed(site: Path) -> None:
    text = (site / "llms.txt").read_text()
    linked = re.findall(r"^- \[.+?\]\((.+?)\)", text, re.MULTILINE)
    assert len(linked) == len(list(DOCS.rglob("*.md"))) - 1
    assert [page for page in linked if not (site / page).is_file()] == []
    assert "(how-to/steps.md): A step is a call whose value is kept." in text
    assert "# Stop safely" in (site / "llms-full.txt").read_text()


def test_a_newer_version_keeps_the_older_one(tmp_path: Path) -> None:
    for name in ("0.9", "0.10"):
        (tmp_path / name).mkdir()
    builder.list_versions(tmp_path)
    assert [it["version"] for it in json.loads((tmp_path / "versions.json").read_text())] == [
        "0.10",
        "0.9",
    ]
    assert 'url=0.10/"' in (tmp_path / "index.html").read_text()


def test_a_link_to_a_missing_heading_fails_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    docs = shutil.copytree(DOCS, tmp_path / "docs")
    with (docs / "leases.md").open("a") as page:
        page.write("\n[not](stopping.md#nowhere)\n")
    monkeypatch.setattr(builder, "DOCS", docs)
    monkeypatch.setattr(builder, "ROOT", tmp_path)
    for name in ("README.md", "src"):
        (tmp_path / name).symlink_to(ROOT / name)
    with pytest.raises(CalledProcessError):
        build(tmp_path / "site", tmp_path / "staging")
    assert "1 issue found" in capfd.readouterr().err


@pytest.fixture
def served(site: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

    handler = partial(Quiet, directory=str(site.parent))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@needs_chromium
def test_search_finds_a_page_and_asks_no_other_site(served: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = browser.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(served)
        page.wait_for_url("**/0.1/")
        page.get_by_role("button", name="Search").first.click()
        page.keyboard.type("idempotency")
        page.get_by_text("Unique and idempotency keys").first.click()
        page.wait_for_url("**/database/**")
        assert [url for url in asked if not url.startswith((served, "blob:", "data:"))] == []
        browser.close()
