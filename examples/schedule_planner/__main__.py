"""The commands of the example: ``python -m examples.schedule_planner --help``."""

from pathlib import Path

import typer
from sqlalchemy import select

from examples.schedule_planner.model import Plan, session_on
from examples.schedule_planner.planner import app, extract_demand, generate_schedule

cli = typer.Typer(add_completion=False, no_args_is_help=True)


@cli.command()
def plan(file: Path, workers: int = 9, within: float = 300.0, wait: bool = True) -> None:
    """Plan the shifts of a CSV file, in a job with the name of the file."""
    demand = extract_demand.enqueue(str(file)).result()
    job = generate_schedule.using(key=file.stem).enqueue(demand, workers, within)
    typer.echo(f"Job {file.stem} plans {len(demand)} days for {workers} people.")
    if wait:
        made = job.result()
        best = "the best there is" if made["optimal"] else "the best found in time"
        typer.echo(f"unfairness {made['unfairness']}, {best}")


@cli.command()
def best(job: str) -> None:
    """Show the best plan that a job had found, however it ended."""
    found = app.handle(job).partials()[-1]
    typer.echo(f"{len(found['shifts'])} days\nunfairness {found['unfairness']}")


@cli.command()
def plans() -> None:
    """Show the plans that are stored."""
    with session_on(app.url) as session:
        for stored in session.exec(select(Plan).order_by(Plan.id)):
            typer.echo(f"{len(stored.shifts)} days, unfairness {stored.unfairness}")


if __name__ == "__main__":
    with app:
        cli()
