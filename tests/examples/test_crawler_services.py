"""The crawler's services do what its documentation says; its snippets run word for word."""

import asyncio
import inspect
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from examples.site_crawler.crawler import jobs, services
from examples.site_crawler.crawler.db.repositories import CrawlJobRepository
from examples.site_crawler.crawler.services import (
    CleanupCoordinator,
    CrawlerSettings,
    CrawlOutcome,
    CrawlResult,
    CrawlStep,
    HTTPResourceManager,
    JobCancellationFlag,
    SeedURLCrawler,
    SeedURLCrawlerConfig,
)

from tenure import NEVER
from tenure.domain.lifecycle import State
from tenure.store.store import Store
from tests.examples import snippets
from tests.examples.conftest import pointed_at
from tests.examples.gates import Site
from tests.factories import make_worker

RESOURCE_MANAGER = '''\
class ResourceManager(ABC):
    @abstractmethod
    async def close_gracefully(self, timeout_seconds: float = 5.0) -> bool:
        """Attempt graceful close within timeout."""
        pass

    @abstractmethod
    async def force_close(self) -> None:
        """Force close immediately."""
        pass

    @abstractmethod
    def is_active(self) -> bool:
        """Check if resource has ongoing operations."""
        pass
'''
HTTP_RESOURCE_MANAGER = '''\
class HTTPResourceManager(ResourceManager):
    def __init__(self, client: httpx.AsyncClient):
        self.client = client
        self._active_requests = 0
        self._closing = False

    @asynccontextmanager
    async def tracked_request(self):
        """Context manager to track active HTTP requests."""
        self._active_requests += 1
        try:
            yield
        finally:
            self._active_requests -= 1
'''
BROWSER_RESOURCE_MANAGER = """\
class BrowserResourceManager(ResourceManager):
    def __init__(self, contexts: list[Any] | None = None):
        self.contexts = contexts or []
"""
CLEANUP_COORDINATOR = '''\
class CleanupCoordinator:
    def __init__(self, graceful_timeout: float = 5.0):
        self.graceful_timeout = graceful_timeout
        self.resources: list[ResourceManager] = []

    def register_resource(self, resource: ResourceManager) -> None:
        """Register a resource for cleanup tracking."""
        self.resources.append(resource)

    async def cleanup_and_update_job(
        self,
        job_id: str,
        job_repo: CrawlJobRepository,
        cancelled_by: str | None = None,
        reason: str | None = None,
    ) -> dict[str, Any]:
        """Clean up resources and update job status."""
        # Performs cleanup and updates DB
'''
CONFIGURATION = """\
@dataclass
class SeedURLCrawlerConfig:
    # ... existing fields ...

    # Optional: CleanupCoordinator for resource cleanup on cancellation
    cleanup_coordinator: CleanupCoordinator | None = None

    # Optional: CrawlJobRepository for updating job status on cancellation
    job_repo: Any | None = None  # Type: crawler.db.repositories.CrawlJobRepository

    # Optional: User/system identifier for cancellation metadata
    cancelled_by: str | None = None
"""
TRACKED_REQUEST = """\
manager = HTTPResourceManager(http_client)
async with manager.tracked_request():
    response = await http_client.get(url)
"""
METADATA = """\
{
    "cleanup_started_at": "2025-11-06T12:00:00Z",
    "cleanup_completed_at": "2025-11-06T12:00:05Z",
    "cleanup_duration_seconds": 5.2,
    "graceful_close_succeeded": ["HTTPResourceManager"],
    "force_closed": ["BrowserResourceManager"],
    "total_resources": 2,
    "cancelled_by": "user-123",
    "cancellation_reason": "Job cancellation requested",
    "job_status_updated": true,
    "job_cancelled_at": "2025-11-06T12:00:05Z"
}
"""
# Two placeholders of the document are filled in: the client and the site.
USAGE = """\
from crawler.services import (
    SeedURLCrawler,
    SeedURLCrawlerConfig,
    CleanupCoordinator,
    JobCancellationFlag,
)
from crawler.db.repositories import CrawlJobRepository

# Set up services
redis_client = {client}  # Redis client
job_repo = CrawlJobRepository(db_connection)
cancellation_flag = JobCancellationFlag(redis_client, settings)
cleanup_coordinator = CleanupCoordinator(graceful_timeout=5.0)

# Create crawler configuration
config = SeedURLCrawlerConfig(
    step=crawl_step,
    job_id="job-123",
    cancellation_flag=cancellation_flag,
    cleanup_coordinator=cleanup_coordinator,
    job_repo=job_repo,
    cancelled_by="user-456",
)

# Perform crawl
crawler = SeedURLCrawler()
result = await crawler.crawl("{site}", config)

# Check result
if result.outcome == CrawlOutcome.CANCELLED:
    print(f"Job cancelled - {{result.total_pages_crawled}} pages crawled")
    print(f"Partial results: {{len(result.extracted_urls)}} URLs extracted")
"""
PAGES, ITEMS = 4, 3


@pytest.fixture(autouse=True)
def _app(database: str) -> Iterator[None]:
    with pointed_at(jobs.app, database):
        yield


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    for number in range(1, PAGES + 1):
        items = [f'<a class="item" href="/item/{number}-{i}">item</a>' for i in range(ITEMS)]
        more = f'<a rel="next" href="/{number + 1}.html">next</a>' if number < PAGES else ""
        (tmp_path / f"{number}.html").write_text("\n".join([*items, more]))
    with Site(tmp_path) as site:
        yield site


@pytest.fixture
def job(database: str) -> int:
    """A job that the test itself carries out, so no worker is to have it."""
    return jobs.crawl.using(key="job-123", run_at=NEVER).enqueue("https://example.com").id


def test_a_request_is_tracked_as_documented(site: Site) -> None:
    async def run() -> None:
        async with httpx.AsyncClient() as http_client:
            names = {"http_client": http_client, "url": f"{site.url}1.html"}
            after = await snippets.run(
                TRACKED_REQUEST, HTTPResourceManager=HTTPResourceManager, **names
            )
            assert after["response"].status_code == 200
            assert not after["manager"].is_active()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("snippet", "name", "methods"),
    [
        (RESOURCE_MANAGER, "ResourceManager", ["close_gracefully", "force_close", "is_active"]),
        (HTTP_RESOURCE_MANAGER, "HTTPResourceManager", ["__init__", "tracked_request"]),
        (BROWSER_RESOURCE_MANAGER, "BrowserResourceManager", ["__init__"]),
        (
            CLEANUP_COORDINATOR,
            "CleanupCoordinator",
            ["__init__", "register_resource", "cleanup_and_update_job"],
        ),
        (CONFIGURATION, "SeedURLCrawlerConfig", ["__init__"]),
    ],
    ids=lambda value: value if isinstance(value, str) and "\n" not in value else "",
)
def test_a_class_takes_what_the_documented_one_takes(
    snippet: str, name: str, methods: list[str]
) -> None:
    names = {name: getattr(services, name) for name in services.__all__}
    known: dict[str, Any] = {"ABC": ABC, "abstractmethod": abstractmethod, "httpx": httpx}
    known |= {"asynccontextmanager": asynccontextmanager, "dataclass": dataclass, "Any": Any}
    known |= {"CrawlJobRepository": CrawlJobRepository}
    documented = asyncio.run(snippets.run(snippet, **{**names, **known}))[name]
    for method in methods:
        ours = inspect.signature(getattr(names[name], method)).parameters
        for parameter in inspect.signature(getattr(documented, method)).parameters.values():
            assert ours[parameter.name].kind is parameter.kind, parameter
            if parameter.default is not inspect.Parameter.empty:
                assert ours[parameter.name].default == parameter.default, parameter


@pytest.mark.parametrize("hangs", [False, True], ids=["page comes", "page hangs"])
def test_the_usage_example_is_cancelled_and_prints_its_partial_results(
    hangs: bool,
    job: int,
    site: Site,
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    import examples.site_crawler

    monkeypatch.syspath_prepend(str(Path(examples.site_crawler.__file__).parent))
    site.hold("/3.html")

    async def run() -> dict[str, Any]:
        async with jobs.app, asyncio.timeout(60):
            usage = asyncio.create_task(
                snippets.run(
                    USAGE.format(client="app", site=f"{site.url}1.html"),
                    app=jobs.app,
                    db_connection=jobs.app,
                    settings=CrawlerSettings(),
                    crawl_step=CrawlStep(),
                    CrawlOutcome=CrawlOutcome,
                )
            )
            await asyncio.to_thread(site.arrived.wait, 30)
            await JobCancellationFlag(jobs.app).set("job-123", "user-456", "found enough")
            if not hangs:
                site.let_go()
            return await usage

    metadata = asyncio.run(run())["result"].cleanup_metadata
    pages = 2 if hangs else 3
    assert capsys.readouterr().out == (
        f"Job cancelled - {pages} pages crawled\nPartial results: {pages * ITEMS} URLs extracted\n"
    )
    closed = ["force_closed", "graceful_close_succeeded"]
    assert metadata[closed[0 if hangs else 1]] == ["HTTPResourceManager"]
    assert metadata[closed[1 if hangs else 0]] == []
    documented = json.loads(METADATA)
    assert list(metadata)[: len(documented)] == list(documented)
    for key, value in documented.items():
        assert type(metadata[key]) is type(value), key
        if key.endswith("_at"):
            assert metadata[key].endswith("Z"), key
    assert (metadata["cancelled_by"], metadata["total_resources"]) == ("user-456", 1)
    seen = store.show(job)
    assert (seen.state, seen.cancelled_by) == (State.CANCELLED, "user-456")
    assert (seen.cancellation_reason, seen.cancelled_at is not None) == ("found enough", True)


def test_a_crawl_that_is_cancelled_before_it_starts_asks_for_no_page(
    job: int, site: Site, store: Store
) -> None:
    async def run() -> CrawlResult:
        async with jobs.app:
            flag = JobCancellationFlag(jobs.app)
            await flag.set("job-123", "user-456", "a mistake")
            config = SeedURLCrawlerConfig(CrawlStep(), "job-123", flag)
            return await SeedURLCrawler().crawl(f"{site.url}1.html", config)

    result = asyncio.run(run())
    assert (result.outcome, result.total_pages_crawled) == (CrawlOutcome.CANCELLED, 0)
    assert site.asked == []
    assert store.show(job).state is State.CANCELLED


@pytest.mark.parametrize("coordinated", [False, True], ids=["alone", "with coordinator"])
def test_without_a_repository_a_cancelled_crawl_leaves_the_job_alone(
    coordinated: bool, job: int, site: Site, store: Store
) -> None:
    class Flag:
        """Somebody else's flags, which are no rows."""

        def __init__(self) -> None:
            self.cancellations: dict[int | str, services.Cancellation] = {}

        async def get(self, job_id: int | str) -> services.Cancellation | None:
            return self.cancellations.get(job_id)

    async def run() -> CrawlResult:
        flag = Flag()
        coordinator = CleanupCoordinator(graceful_timeout=0.2) if coordinated else None
        config = SeedURLCrawlerConfig(CrawlStep(), "job-123", flag, coordinator)
        crawl = asyncio.create_task(SeedURLCrawler().crawl(f"{site.url}1.html", config))
        await asyncio.to_thread(site.arrived.wait, 30)
        flag.cancellations["job-123"] = services.Cancellation()
        return await crawl

    site.hold("/2.html")
    result = asyncio.run(run())
    assert (result.outcome, result.total_pages_crawled) == (CrawlOutcome.CANCELLED, 1)
    assert (result.cleanup_metadata is not None) is coordinated
    if result.cleanup_metadata is not None:
        assert result.cleanup_metadata["cancellation_reason"] == "Job cancellation requested"
        assert result.cleanup_metadata["job_status_updated"] is False
    assert store.show(job).state is State.PENDING


def test_a_repository_cancels_once_and_not_what_has_completed(job: int, store: Store) -> None:
    async def cancel(job_id: int | str) -> bool:
        async with jobs.app:
            return await CrawlJobRepository(jobs.app).cancel(job_id, "user-456", "found enough")

    assert asyncio.run(cancel("job-123")) is True
    assert asyncio.run(cancel(job)) is True  # it is so already
    assert store.show(job).cancellation_reason == "found enough"
    done = jobs.crawl.enqueue("https://example.com").id
    worker = make_worker(store)
    worker.finish(worker.claim_one())
    assert asyncio.run(cancel(done)) is False


def test_a_job_has_the_columns_of_the_documented_table(sql: psycopg.Connection) -> None:
    columns: dict[str, str] = dict(
        sql.execute(
            "SELECT column_name, data_type FROM information_schema.columns"
            " WHERE (table_schema, table_name) = ('tenure', 'jobs')"
        ).fetchall()
    )
    assert columns["cancelled_at"] == "timestamp with time zone"
    assert (columns["cancelled_by"], columns["cancellation_reason"]) == ("text", "text")


def test_a_longer_timeout_is_given_as_documented() -> None:
    assert eval("CleanupCoordinator(graceful_timeout=10.0)", vars(services)).graceful_timeout == 10
