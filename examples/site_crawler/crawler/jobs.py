"""The crawler as tasks of an app: ``tenure worker crawler.jobs:app``."""

from typing import Any

from tenure import Context, Tenure

from .browser import open_page
from .services import (
    Cancellation,
    CrawlResult,
    CrawlStep,
    SeedURLCrawler,
    SeedURLCrawlerConfig,
)

app = Tenure()


class ContextFlag:
    """The flag of the job that runs, known without asking the database."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx

    async def get(self, job_id: int | str) -> Cancellation | None:  # noqa: ARG002
        return Cancellation(reason=self._ctx.stop_reason) if self._ctx.cancelled else None


# It is asked for longer than a resource may take to close, so that it can return what it has.
@app.task(name="crawl", grace="30s", ask_for="15s", close_timeout="5s")
async def crawl(ctx: Context, seed_url: str, max_pages: int = 100) -> CrawlResult:
    """Find every item of a site that has one list over many pages.

    There is no ``job_repo``: the worker itself writes the status, once the code is gone.
    """

    def keep(found: list[str], result: CrawlResult) -> None:
        ctx.emit({"urls": found})
        ctx.save_checkpoint(
            pages=result.total_pages_crawled, urls=result.extracted_urls, next=result.next_page
        )
        ctx.progress(result.total_pages_crawled, message=f"{len(result.extracted_urls)} items")

    config = SeedURLCrawlerConfig(
        step=CrawlStep(max_pages=max_pages),
        job_id=ctx.job.id,
        cancellation_flag=ContextFlag(ctx),
        cleanup_coordinator=ctx.resources,
        on_page=keep,
    )
    return await SeedURLCrawler().crawl(seed_url, config, _so_far(ctx))


@app.task(name="read_page", grace="15s", ask_for="5s", close_timeout="5s")
async def read_page(ctx: Context, url: str) -> str:
    """Return the title of a page as a browser shows it, scripts and all."""
    ctx.raise_if_cancelled()
    page = await open_page(ctx)
    await page.goto(url, timeout=0)
    return str(await page.title())


def _so_far(ctx: Context) -> CrawlResult | None:
    """Return what an earlier attempt had found."""
    saved: Any = ctx.checkpoint
    if not saved:
        return None
    return CrawlResult(
        total_pages_crawled=saved["pages"], extracted_urls=saved["urls"], next_page=saved["next"]
    )
