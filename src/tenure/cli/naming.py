"""Arguments and options that several commands take."""

from typing import Annotated

import typer

from tenure.cli.completing import complete_jobs
from tenure.errors import InputRefused

JobName = Annotated[
    str,
    typer.Argument(
        metavar="JOB", help="The id of a job, or its key.", autocompletion=complete_jobs
    ),
]
OneJob = Annotated[
    str | None,
    typer.Argument(
        metavar="JOB", help="The id of a job, or its key.", autocompletion=complete_jobs
    ),
]
Why = Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Why, for the record.")]
New = Annotated[bool, typer.Option("--new", help="Although no job has had it yet.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def required_job(job: str | None) -> str:
    """Refuse a command that names neither a job nor jobs."""
    if job is None:
        raise InputRefused("say which job, by its id or its key, or which ones with --where")
    return job


def refuse_job(job: str | None) -> None:
    """Refuse a command that names a job and jobs."""
    if job is not None:
        raise InputRefused("--where chooses jobs; leave out the job")
