"""Run tests on Tenure as it is, or on a copy of it that lacks a guard."""

import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.mutants.mutant import ROOT, Mutant, mutated_copy
from tests.mutants.plugin import VARIABLE


@dataclass(frozen=True)
class Trial:
    """The end of a run of pytest."""

    code: int
    output: str

    @property
    def failed(self) -> list[str]:
        """Return the tests that failed."""
        lines = self.output.splitlines()
        failures = (line for line in lines if line.startswith(("FAILED ", "ERROR ")))
        return [line.partition(" ")[2].partition(" - ")[0] for line in failures]


def run_as_it_is(*arguments: str) -> Trial:
    return _run("", *arguments)


def run_mutated(mutant: Mutant, *arguments: str) -> Trial:
    with mutated_copy(mutant) as folder:
        try:
            return _run(str(folder), *arguments)
        finally:
            _kill_leftovers(folder)


def _run(folder: str, *arguments: str) -> Trial:
    command = [sys.executable, "-m", "pytest", "-p", "tests.mutants.plugin", *arguments]
    path = os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, VARIABLE: folder, "PYTHONPATH": path, "COLUMNS": "500"}
    # A file, not a pipe: what a weakened Tenure leaves running would keep a pipe open.
    with tempfile.TemporaryFile("w+") as output:
        code = subprocess.run(
            command, env=environment, cwd=ROOT, stdout=output, stderr=output, check=False
        ).returncode
        output.seek(0)
        return Trial(code, output.read())


def _kill_leftovers(folder: Path) -> None:
    """Kill the processes that outlived the tests: all of them have the copy on PYTHONPATH."""
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            path = process.environ().get("PYTHONPATH", "")
            if str(folder) in path.split(os.pathsep):
                process.kill()
