"""Arguments and options that several commands take."""

from typing import Annotated

import typer

JobName = Annotated[str, typer.Argument(metavar="JOB", help="The id of a job, or its key.")]
Why = Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Why, for the record.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
