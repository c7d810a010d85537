"""The commands of the example: ``python -m examples.site_crawler --help``."""

import asyncio

import typer

from examples.site_crawler.crawler.db.repositories import CrawlJobRepository
from examples.site_crawler.crawler.jobs import app
from examples.site_crawler.crawler.jobs import crawl as crawl_task

cli = typer.Typer(add_completion=False, no_args_is_help=True)


@cli.command()
def crawl(seed_url: str, max_pages: int = 100, wait: bool = True) -> None:
    """Crawl a list, from its first page on."""
    job = crawl_task.enqueue(seed_url, max_pages)
    typer.echo(f"Job {job.id} crawls {seed_url}.")
    if wait:
        result = job.result()
        show(result.outcome, result.total_pages_crawled, len(result.extracted_urls))


@cli.command()
def cancel(job_id: int, by: str | None = None) -> None:
    """Cancel a crawl, and show what it had found and how it was cleaned up."""
    job = app.handle(job_id)
    job.cancel("Job cancellation requested", by=by, wait=True)
    result = job.partials()[-1]
    show(result["outcome"], result["total_pages_crawled"], len(result["extracted_urls"]))
    for name, value in asyncio.run(cleanup_metadata(job_id)).items():
        typer.echo(f"{name:26} {value}")


def show(outcome: str, pages: int, urls: int) -> None:
    typer.echo(f"{outcome}: {pages} pages, {urls} URLs")


async def cleanup_metadata(job_id: int) -> dict[str, object]:
    async with app:
        return await CrawlJobRepository(app).cleanup_metadata(job_id)


if __name__ == "__main__":
    with app:
        cli()
