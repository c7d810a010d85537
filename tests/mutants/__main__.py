"""Take every guard out once and see a test fail: ``python -m tests.mutants [NAME ...]``.

Ends with 1 when a mutant survives, is broken, or finds its text no longer in its place.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
from rich.console import Console
from rich.table import Table

from tenure.domain.tenant import DEFAULT
from tenure.store import schema
from tenure.store.embedded import Embedded
from tests.mutants.catalogue import MUTANTS, by_name
from tests.mutants.mutant import Mutant, Stale, text_of
from tests.mutants.plugin import BROKEN, VARIABLE

console = Console()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many at once")
    parser.add_argument("--find", metavar="TESTS", help="run these and list all tests that notice")
    chosen = parser.parse_args()
    mutants = [by_name(name) for name in chosen.names] or list(MUTANTS)

    if problems := _problems(mutants):
        for problem in problems:
            console.print(problem, markup=False, style="red")
        return 1
    if chosen.find:
        return _find(mutants, chosen.find, chosen.jobs)
    if nameless := [mutant.name for mutant in mutants if not mutant.killed_by]:
        console.print(f"nobody is named who kills {', '.join(nameless)}", style="red")
        return 1
    failing = _failing(mutants)
    with ThreadPoolExecutor(chosen.jobs) as several:
        answers = list(several.map(lambda mutant: _verdict(mutant, failing), mutants))
    _show(mutants, answers)
    return 0 if all(answer.startswith("killed") for answer in answers) else 1


def _problems(mutants: list[Mutant]) -> list[str]:
    """What is wrong with the mutants themselves."""
    found = []
    with (
        tempfile.TemporaryDirectory(prefix="tenure-mutants-") as folder,
        Embedded.open(Path(folder) / "pg") as embedded,
        psycopg.connect(embedded.url, autocommit=True) as connection,
    ):
        schema.migrate(connection)
        for mutant in mutants:
            try:
                text = schema.render(mutant.applied(text_of(mutant.file)), DEFAULT)
                if mutant.file.startswith("verbs/"):
                    # A migration does not look into the bodies; this does.
                    with connection.transaction(force_rollback=True):
                        connection.execute(text.encode())
            except Stale as error:
                found.append(str(error))
            except psycopg.Error as error:
                found.append(f"{mutant.name}: {error}")
    return found


def _failing(mutants: list[Mutant]) -> set[str]:
    """The tests that fail without any mutant: they prove nothing."""
    tests = sorted({test for mutant in mutants for test in mutant.tests})
    console.print(f"{len(tests)} tests without a mutant ...")
    done = _pytest("", *tests, "-q")
    if done.returncode not in (0, 1):
        sys.exit(done.stdout + done.stderr)
    return {test.partition("[")[0] for test in _failed(done.stdout)}


def _verdict(mutant: Mutant, failing: set[str]) -> str:
    answer = _answer(mutant, failing)
    console.print(f"{mutant.name}: {answer}", markup=False, highlight=False, soft_wrap=True)
    return answer


def _answer(mutant: Mutant, failing: set[str]) -> str:
    if useless := failing.intersection(mutant.tests):
        return f"UNKNOWN: {useless.pop()} fails without it"
    done = _pytest(mutant.name, *mutant.tests, "-x", "-q", "--timeout=60")
    failed = _failed(done.stdout)
    match done.returncode:
        case 0:
            return "SURVIVED"
        case 1 if failed:
            return f"killed by {failed[0]}"
        case _ if done.returncode == BROKEN:
            return "BROKEN: its SQL is wrong"
        case _:
            return f"BROKEN: pytest ended with {done.returncode}"


def _find(mutants: list[Mutant], tests: str, jobs: int) -> int:
    def look(mutant: Mutant) -> None:
        done = _pytest(mutant.name, *tests.split(), "-q", "--timeout=60", "--tb=line")
        lines = _failed(done.stdout) or ["nobody"]
        console.print("\n  ".join([mutant.name, *lines]), markup=False, highlight=False)

    with ThreadPoolExecutor(jobs) as several:
        list(several.map(look, mutants))
    return 0


def _pytest(mutant: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", "tests.mutants.plugin", *arguments]
    environment = {**os.environ, VARIABLE: mutant, "COLUMNS": "500"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def _failed(output: str) -> list[str]:
    lines = (line for line in output.splitlines() if line.startswith(("FAILED ", "ERROR ")))
    return [line.partition(" ")[2].partition(" - ")[0] for line in lines]


def _show(mutants: list[Mutant], answers: list[str]) -> None:
    table = Table("mutant", "file")
    table.add_column("answer", overflow="fold")
    for mutant, answer in zip(mutants, answers, strict=True):
        style = None if answer.startswith("killed") else "red"
        answer = answer.replace("tests/store/", "")
        table.add_row(mutant.name, mutant.file, answer, style=style)
    console.print(table)
    survivors = sum(not answer.startswith("killed") for answer in answers)
    console.print(f"{len(mutants) - survivors} of {len(mutants)} mutants killed")


if __name__ == "__main__":
    sys.exit(main())
