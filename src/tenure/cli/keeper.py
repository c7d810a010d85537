"""The process of ``tenure worker``, once its command line is read.

The command replaces itself by this program: what it imported to read options and print tables, a
third of its memory, is not needed by a worker. The options come through a descriptor, as a command
line is visible to everybody on the host and a database URL must not be.
"""

import json
import os
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from tenure.config import Settings
from tenure.errors import TenureError
from tenure.observe.logs import Form, configure
from tenure.runtime.exit_code import ExitCode
from tenure.runtime.keeper.program import make_plan, on_signals
from tenure.runtime.keeper.program import run as live
from tenure.runtime.keeper.runs.runner_launcher import ImportFailed


def main() -> int:
    _, _, app, descriptor = sys.argv  # the first is the word "worker", for those who list processes
    with open(int(descriptor), "rb") as file:  # noqa: PTH123 -- a descriptor is no path
        file.seek(0)
        options: dict[str, Any] = json.load(file)
    return run_app(app, **options)


def run_app(
    app: str, *, form: Form | None = None, verbose: bool = False, json: bool = False, **options: Any
) -> int:
    """Run a worker with these options; return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        configure(form or Settings.from_environment(os.environ).log_format, verbose=verbose)
        return _run(app, options)
    except TenureError as error:
        from tenure.cli.output import fail

        fail(error, json=json)


def _run(app: str, options: Mapping[str, Any]) -> int:
    with ExitStack() as stack:
        try:
            return live(make_plan(stack, app, **options), on_signals)
        except ImportFailed as problem:
            print(f"{problem.traceback}tenure: {problem}", file=sys.stderr)  # noqa: T201
            return ExitCode.NOT_IMPORTED


if __name__ == "__main__":
    sys.exit(main())
