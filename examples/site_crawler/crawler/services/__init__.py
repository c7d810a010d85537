"""The services of the crawler, from one place."""

from tenure.resources import (
    BrowserResourceManager,
    CleanupCoordinator,
    HTTPResourceManager,
    ResourceManager,
)

from .cancellation_flag import (
    Cancellation,
    CancellationFlag,
    CrawlerSettings,
    JobCancellationFlag,
)
from .crawl_result import CrawlOutcome, CrawlResult
from .seed_url_crawler import CrawlStep, SeedURLCrawler, SeedURLCrawlerConfig

__all__ = [
    "BrowserResourceManager",
    "Cancellation",
    "CancellationFlag",
    "CleanupCoordinator",
    "CrawlOutcome",
    "CrawlResult",
    "CrawlStep",
    "CrawlerSettings",
    "HTTPResourceManager",
    "JobCancellationFlag",
    "ResourceManager",
    "SeedURLCrawler",
    "SeedURLCrawlerConfig",
]
