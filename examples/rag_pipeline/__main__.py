"""The commands of the example: ``python -m examples.rag_pipeline --help``."""

import asyncio
from collections.abc import Awaitable, Mapping
from typing import Any, TypeVar

import typer

from examples.rag_pipeline import index, pipeline
from examples.rag_pipeline.pipeline import app, job_manager, repo

T = TypeVar("T")

cli = typer.Typer(add_completion=False, no_args_is_help=True)


@cli.command()
def build(url: str, pause: float = 0.0) -> None:
    """Crawl a site and index its pages, with a pause of some seconds between two pages."""
    index.prepare(app.url)
    job = pipeline.build.enqueue(url, pause=pause)
    typer.echo(f"job {job.id}")
    show(job.result())


@cli.command()
def search(question: str) -> None:
    """Show the pages that answer a question best."""
    typer.echo("\n".join(pipeline.search(question)))


@cli.command()
def status(job_id: int) -> None:
    """Show how a job stands."""
    show(asyncio.run(answer_to(job_manager.get_job_status(job_id))))


@cli.command()
def cancel(job_id: int) -> None:
    """Cancel a job, and wait until its code has stopped."""
    record = job_manager.cancel_job(job_id)
    job = app.handle(job_id).wait()
    typer.echo(f"{record.cancellation_id}: job {job_id} is {job.status}")


@cli.command()
def statistics() -> None:
    """Count the jobs in each status."""
    counts = asyncio.run(answer_to(repo.get_job_statistics()))
    show({str(status): count for status, count in counts.items()})


def show(values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        typer.echo(f"{name:18} {value}")


async def answer_to(question: Awaitable[T]) -> T:
    async with app:
        return await question


if __name__ == "__main__":
    with app:
        cli()
