"""What a crawl returns."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class CrawlOutcome(StrEnum):
    SUCCESS = "success"
    CANCELLED = "cancelled"


@dataclass
class CrawlResult:
    outcome: CrawlOutcome = CrawlOutcome.SUCCESS
    total_pages_crawled: int = 0
    extracted_urls: list[str] = field(default_factory=list)
    next_page: str | None = None  # where the crawl would continue
    cleanup_metadata: Mapping[str, Any] | None = None  # after a cancellation with a coordinator
