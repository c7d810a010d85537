"""Jobs that are programs. Their output goes to the job's log and to an artifact."""

import os
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tenure.errors import CommandFailed
from tenure.runtime.control_exceptions import Interrupted

if TYPE_CHECKING:
    from tenure.runtime.context import Context

OUTPUT = "output.txt"  # the name of the artifact


def run(ctx: "Context", argv: Sequence[str]) -> dict[str, int]:
    """Run a program to its end. An exit code other than 0 is a failure."""
    with tempfile.TemporaryFile() as kept:
        try:
            process = subprocess.Popen(  # noqa: S603 - the argv of a declared command
                argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
        except OSError as problem:
            raise CommandFailed(f"{argv[0]!r} cannot be started: {problem.strerror}") from None
        try:
            assert process.stdout is not None
            for line in process.stdout:
                kept.write(line)
                os.write(1, line)  # the output of this process is the job's log
            process.stdout.close()
            code = process.wait()
        except Interrupted:
            _end(process)
            raise
        finally:
            with ctx.shield():
                if kept.tell():
                    kept.seek(0)
                    ctx.artifact(OUTPUT, kept)
    if code:
        how = (
            f"was ended by {signal.Signals(-code).name}" if code < 0 else f"exited with code {code}"
        )
        raise CommandFailed(f"{argv[0]} {how}")
    return {"exit_code": code}


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Send SIGTERM, the only request that a program understands. The ladder does the rest."""
    process.terminate()
    process.wait()
