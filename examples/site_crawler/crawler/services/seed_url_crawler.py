"""A crawler that follows a paginated list from a seed URL, and cleans up when it is cancelled."""

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin

import httpx

from tenure.errors import ResourceClosed
from tenure.resources import CleanupCoordinator, HTTPResourceManager

from ..db.repositories import CrawlJobRepository
from .cancellation_flag import Cancellation, CancellationFlag
from .crawl_result import CrawlOutcome, CrawlResult

CHECK_EVERY = 0.2  # seconds between two looks at the flag while a page is being fetched
PAGE_TIMEOUT = 600.0  # seconds


@dataclass(frozen=True)
class CrawlStep:
    """What to look for on a page: both expressions have the link as their first group."""

    item_link: str = r'<a class="item" href="([^"]+)"'
    next_link: str = r'<a rel="next" href="([^"]+)"'
    max_pages: int = 100


@dataclass
class SeedURLCrawlerConfig:
    step: CrawlStep
    job_id: int | str

    # Optional: without it, a crawl cannot be cancelled
    cancellation_flag: CancellationFlag | None = None

    # Optional: CleanupCoordinator for resource cleanup on cancellation
    cleanup_coordinator: CleanupCoordinator | None = None

    # Optional: CrawlJobRepository for updating job status on cancellation
    job_repo: CrawlJobRepository | None = None

    # Optional: User/system identifier for cancellation metadata
    cancelled_by: str | None = None

    # Optional: called with the URLs of each page and the result so far
    on_page: Callable[[list[str], CrawlResult], Any] | None = None


class SeedURLCrawler:
    async def crawl(
        self, seed_url: str, config: SeedURLCrawlerConfig, so_far: CrawlResult | None = None
    ) -> CrawlResult:
        """Follow the list from its first page, or from where an earlier crawl had come."""
        result = so_far or CrawlResult(next_page=seed_url)
        http = HTTPResourceManager(httpx.AsyncClient(timeout=PAGE_TIMEOUT))
        if config.cleanup_coordinator is not None:
            config.cleanup_coordinator.register_resource(http)
        try:
            while result.next_page and result.total_pages_crawled < config.step.max_pages:
                if await self._check_cancellation(config):
                    return await self._cancelled(result, config)
                page = await self._fetch(http, result.next_page, config)
                if page is None:
                    return await self._cancelled(result, config)
                self._extract(page, result, config)
        finally:
            await http.client.aclose()
        return result

    async def _check_cancellation(self, config: SeedURLCrawlerConfig) -> Cancellation | None:
        flag = config.cancellation_flag
        return None if flag is None else await flag.get(config.job_id)

    async def _fetch(
        self, http: HTTPResourceManager, url: str, config: SeedURLCrawlerConfig
    ) -> httpx.Response | None:
        """Fetch a page; None if it does not come in time after a cancellation."""
        request = asyncio.create_task(self._get(http, url))
        try:
            while not (await asyncio.wait({request}, timeout=CHECK_EVERY))[0]:
                if await self._check_cancellation(config):
                    if config.cleanup_coordinator is None:
                        return None
                    # Waits for the request as long as the coordinator allows, then aborts it.
                    await self._clean_up(config.cleanup_coordinator, config)
                    break
            return await request
        except ResourceClosed:
            return None
        finally:
            request.cancel()

    async def _get(self, http: HTTPResourceManager, url: str) -> httpx.Response:
        async with http.tracked_request():
            response: httpx.Response = await http.client.get(url)
        return response.raise_for_status()

    def _extract(
        self, page: httpx.Response, result: CrawlResult, config: SeedURLCrawlerConfig
    ) -> None:
        found = [
            urljoin(str(page.url), link) for link in re.findall(config.step.item_link, page.text)
        ]
        following = re.search(config.step.next_link, page.text)
        result.total_pages_crawled += 1
        result.extracted_urls += found
        result.next_page = urljoin(str(page.url), following[1]) if following else None
        if config.on_page is not None:
            config.on_page(found, result)

    async def _cancelled(self, result: CrawlResult, config: SeedURLCrawlerConfig) -> CrawlResult:
        result.outcome = CrawlOutcome.CANCELLED
        if config.cleanup_coordinator is not None:
            result.cleanup_metadata = await self._clean_up(config.cleanup_coordinator, config)
        return result

    async def _clean_up(self, coordinator: CleanupCoordinator, config: SeedURLCrawlerConfig) -> Any:
        """Close what the crawl opened, then update the job; the second time nothing is left."""
        cancellation = await self._check_cancellation(config) or Cancellation()
        return await coordinator.cleanup_and_update_job(
            config.job_id,
            config.job_repo,
            cancelled_by=config.cancelled_by or cancellation.cancelled_by,
            reason=cancellation.reason,
        )
