"""The crawler: what it finds, what it keeps when it is stopped, and what it closes."""

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from examples.site_crawler.crawler import jobs
from examples.site_crawler.crawler.browser import chromium
from examples.site_crawler.crawler.db.repositories import CrawlJobRepository
from examples.site_crawler.crawler.services import CrawlOutcome

from tenure.domain.lifecycle import State
from tenure.store.store import Store
from tests.cleanup import KEYS
from tests.examples.conftest import pointed_at
from tests.examples.gates import Site
from tests.workers import Watcher, eventually, is_gone

APP = "examples.site_crawler.crawler.jobs:app"
PAGES, ITEMS = 4, 3


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A list of items over several pages."""
    folder = tmp_path / "site"
    folder.mkdir()
    for number in range(1, PAGES + 1):
        items = [f'<a class="item" href="/item/{number}-{i}">item</a>' for i in range(ITEMS)]
        more = f'<a rel="next" href="/list-{number + 1}.html">next</a>' if number < PAGES else ""
        (folder / f"list-{number}.html").write_text("\n".join([*items, more]))
    script = "<title>before</title><script>document.title = 'after ' + (1 + 1)</script>"
    (folder / "script.html").write_text(script)
    with Site(folder) as site:
        yield site


@pytest.fixture(autouse=True)
def _app(database: str) -> Iterator[None]:
    with pointed_at(jobs.app, database):
        yield


def test_all_items_of_all_pages_are_found(worker_of: Any, site: Site) -> None:
    with worker_of(APP):
        result = jobs.crawl.enqueue(f"{site.url}list-1.html").result("30s")
    assert result.outcome is CrawlOutcome.SUCCESS
    assert result.total_pages_crawled == PAGES
    assert len(result.extracted_urls) == PAGES * ITEMS
    assert result.extracted_urls[0] == f"{site.url}item/1-0"


def test_a_stopped_crawl_finishes_its_page_and_keeps_what_it_found(
    worker_of: Any, site: Site, store: Store
) -> None:
    site.hold("/list-3.html")
    with worker_of(APP) as worker:
        job = jobs.crawl.enqueue(f"{site.url}list-1.html")
        eventually(site.arrived.is_set, "the third page is asked for")
        record = job.cancel("found enough", by="user-456")
        worker.says(f"job {job.id} is asked")
        site.let_go()
        ended = Watcher(store).record_ends(record.cancellation_id)
    assert ended.status == "completed"
    seen = job.job()
    assert (seen.state, seen.cancelled_by) == (State.CANCELLED, "user-456")
    assert seen.cancellation_reason == "found enough"
    assert seen.cancelled_at is not None
    *pages, last = job.partials()
    assert [len(page["urls"]) for page in pages] == [ITEMS] * 3
    assert last["outcome"] == "cancelled"
    assert last["total_pages_crawled"] == 3
    assert len(last["extracted_urls"]) == 3 * ITEMS
    assert set(seen.cleanup) == set(KEYS)
    assert seen.cleanup["graceful_close_succeeded"] == ["HTTPResourceManager"]
    assert seen.cleanup["force_closed"] == []


def test_a_page_that_hangs_is_closed_by_force_and_what_was_found_is_returned(
    worker_of: Any, site: Site, store: Store
) -> None:
    site.hold("/list-3.html")
    with worker_of(APP):
        job = jobs.crawl.using(close_timeout="500ms").enqueue(f"{site.url}list-1.html")
        eventually(site.arrived.is_set, "the third page is asked for")
        record = job.cancel("it hangs", by="user-456")
        ended = Watcher(store).record_ends(record.cancellation_id)
    assert ended.members[0].rung == "asked"  # nobody had to interrupt it
    assert job.status() == "cancelled"
    *pages, last = job.partials()
    assert [len(page["urls"]) for page in pages] == [ITEMS] * 2
    assert last["outcome"] == "cancelled"
    assert last["total_pages_crawled"] == 2
    assert len(last["extracted_urls"]) == 2 * ITEMS
    metadata = asyncio.run(_metadata(job.id))
    assert list(metadata) == KEYS
    assert metadata["force_closed"] == ["HTTPResourceManager"]
    assert metadata["graceful_close_succeeded"] == []
    assert (metadata["cancelled_by"], metadata["cancellation_reason"]) == ("user-456", "it hangs")
    assert metadata["job_status_updated"] is True
    times = ("cleanup_started_at", "cleanup_completed_at", "job_cancelled_at")
    assert [metadata[time][-1] for time in times] == ["Z"] * 3


async def _metadata(job_id: int) -> dict[str, Any]:
    async with jobs.app:
        return await CrawlJobRepository(jobs.app).cleanup_metadata(job_id)


def test_a_paused_crawl_continues_with_the_next_page(
    worker_of: Any, site: Site, store: Store
) -> None:
    site.hold("/list-3.html")
    with worker_of(APP):
        job = jobs.crawl.enqueue(f"{site.url}list-1.html")
        eventually(site.arrived.is_set, "the third page is asked for")
        record = job.pause("later", ask_for="0s")
        Watcher(store).record_ends(record.cancellation_id)
        site.let_go()
        job.resume()
        assert len(job.result("30s").extracted_urls) == PAGES * ITEMS
    assert site.asked.count("/list-1.html") == 1


@pytest.mark.skipif(chromium() is None, reason="no browser: apt install chromium")
def test_a_real_browser_reads_a_page_and_is_closed(
    worker_of: Any, site: Site, store: Store
) -> None:
    short = {"TMPDIR": tempfile.gettempdir()}  # the browser has a socket there, with a short name
    with worker_of(APP, **short) as worker:
        job = jobs.read_page.enqueue(f"{site.url}script.html")
        assert job.result("60s") == "after 2"
        assert _browsers(worker) == []

        site.hold("/list-1.html")
        hanging = jobs.read_page.enqueue(f"{site.url}list-1.html")
        eventually(site.arrived.is_set, "the browser asks for it", 60)
        assert _browsers(worker)
        record = hanging.cancel("it hangs", ask_for="0s")
        Watcher(store).record_ends(record.cancellation_id, 60)
        eventually(lambda: not _browsers(worker), "no browser is left")
    assert hanging.status() == "cancelled"


def _browsers(worker: Any) -> list[int]:
    return [one.pid for one in worker.tree if not is_gone(one) and "chrom" in one.name()]
