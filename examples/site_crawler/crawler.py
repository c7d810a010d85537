"""A crawler of paginated sites: tracked requests, a browser, and a stop that waits for the page.

The crawl looks whether it is to stop at three points: before the first page, before each further
one, and before a page is read on its own. What it found is kept as it goes, and what it opened is
closed gracefully within five seconds, then by force.
"""

import re
from dataclasses import dataclass, field
from enum import StrEnum
from urllib.parse import urljoin

import httpx

from examples.site_crawler.browser import open_page
from tenure import Context, Tenure
from tenure.runtime.resources import HTTPResourceManager

app = Tenure()

_ITEM = re.compile(r'<a class="item" href="([^"]+)"')
_NEXT = re.compile(r'<a rel="next" href="([^"]+)"')


class CrawlOutcome(StrEnum):
    SUCCESS = "success"
    CANCELLED = "cancelled"


@dataclass
class CrawlResult:
    outcome: CrawlOutcome
    total_pages_crawled: int = 0
    extracted_urls: list[str] = field(default_factory=list)


@app.task(name="crawl", grace="20s", ask_for="5s", close_timeout="5s")
async def crawl(ctx: Context, start: str, most: int = 100) -> CrawlResult:
    """Every item of a site that has one list over many pages."""
    http = ctx.resources.add(HTTPResourceManager(httpx.AsyncClient(timeout=600)))
    result = CrawlResult(
        CrawlOutcome.SUCCESS,
        ctx.checkpoint.get("pages", 0),
        list(ctx.checkpoint.get("found", [])),
    )
    page: str | None = ctx.checkpoint.get("next", start)
    while page is not None and result.total_pages_crawled < most:
        if ctx.cancelled:
            result.outcome = CrawlOutcome.CANCELLED
            return result  # what was found is kept, and the job ends cancelled all the same
        async with http.tracked_request():
            text = (await http.client.get(page)).raise_for_status().text
        found = [urljoin(page, link) for link in _ITEM.findall(text)]
        after = _NEXT.search(text)
        page = urljoin(page, after[1]) if after else None
        result.total_pages_crawled += 1
        result.extracted_urls += found
        ctx.emit({"urls": found})
        ctx.save_checkpoint(
            next=page, pages=result.total_pages_crawled, found=result.extracted_urls
        )
        ctx.progress(result.total_pages_crawled, message=f"{len(result.extracted_urls)} items")
    return result


@app.task(name="read_page", grace="15s", ask_for="5s", close_timeout="5s")
async def read_page(ctx: Context, url: str) -> str:
    """The title of a page as a browser shows it, scripts and all."""
    ctx.raise_if_cancelled()
    page = await open_page(ctx)
    await page.goto(url, timeout=0)
    return str(await page.title())
