"""Take every guard out once and see a test fail: ``python -m tests.mutants [NAME ...]``.

Ends with 1 when a mutant survives, is broken, or finds its text or its test no longer in its place.
"""

import argparse
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tenure.domain.tenant import DEFAULT
from tenure.store import schema
from tenure.store.embedded import Embedded
from tests.mutants.catalogue import MUTANTS, part_of
from tests.mutants.mutant import Mutant
from tests.mutants.plugin import BROKEN
from tests.mutants.trial import run_as_it_is, run_mutated
from tests.mutants.verify import problems, problems_of_text

console = Console()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", type=_named, metavar="NAME", help="only these")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many at once")
    parser.add_argument(
        "--part", type=_part, default=(1, 1), metavar="K/N", help="every Nth, from the Kth on"
    )
    parser.add_argument(
        "--verify",
        action="store_true",
        help="only check that each finds its text and its tests; needs no database",
    )
    parser.add_argument("--find", metavar="TESTS", help="run these and list all tests that notice")
    chosen = parser.parse_args()
    mutants = part_of(chosen.names or MUTANTS, *chosen.part)

    # With --find, the test that kills a mutant is not known yet.
    found = list(problems_of_text(mutants)) if chosen.find else problems(mutants)
    if not found and not chosen.verify:
        found = _wrong_sql(mutants)
    if found:
        for problem in found:
            console.print(problem, markup=False, highlight=False, style="red", soft_wrap=True)
        return 1
    if chosen.verify:
        console.print(f"{len(mutants)} mutants find their texts and their tests")
        return 0
    if chosen.find:
        return _find(mutants, chosen.find, chosen.jobs)
    failing = _failing(mutants)
    with ThreadPoolExecutor(chosen.jobs) as several:
        answers = list(several.map(lambda mutant: _verdict(mutant, failing), mutants))
    _show(mutants, answers)
    return 0 if all(answer.startswith("killed") for answer in answers) else 1


def _named(name: str) -> Mutant:
    for mutant in MUTANTS:
        if mutant.name == name:
            return mutant
    raise argparse.ArgumentTypeError(f"there is no mutant {name!r}")


def _part(text: str) -> tuple[int, int]:
    part, _, parts = text.partition("/")
    if part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts):
        return int(part), int(parts)
    raise argparse.ArgumentTypeError(f"{text!r} is not K/N with K from 1 to N, such as 3/20")


def _wrong_sql(mutants: list[Mutant]) -> list[str]:
    """Return a sentence for each mutant that PostgreSQL does not accept."""
    found = []
    with (
        tempfile.TemporaryDirectory(prefix="tenure-mutants-") as folder,
        Embedded.open(Path(folder) / "pg") as embedded,
        psycopg.connect(embedded.url, autocommit=True) as connection,
    ):
        schema.migrate(connection)
        for mutant in mutants:
            if not mutant.file.startswith("store/verbs/"):
                continue
            try:
                # A migration does not look into the bodies; this does.
                with connection.transaction(force_rollback=True):
                    text = schema.expand(mutant.text())
                    connection.execute(schema.render(text, DEFAULT).encode())
            except psycopg.Error as error:
                found.append(f"{mutant.name}: {error}")
    return found


def _failing(mutants: list[Mutant]) -> set[str]:
    """The tests that fail without any mutant: they prove nothing."""
    tests = sorted({test for mutant in mutants for test in mutant.tests})
    console.print(f"{len(tests)} tests without a mutant ...")
    trial = run_as_it_is(*tests, "-q")
    if trial.code not in (0, 1):
        sys.exit(trial.output)
    return {test.partition("[")[0] for test in trial.failed}


def _verdict(mutant: Mutant, failing: set[str]) -> str:
    answer = _answer(mutant, failing)
    console.print(f"{mutant.name}: {answer}", markup=False, highlight=False, soft_wrap=True)
    return answer


def _answer(mutant: Mutant, failing: set[str]) -> str:
    if useless := failing.intersection(test.partition("[")[0] for test in mutant.tests):
        return f"UNKNOWN: {useless.pop()} fails without it"
    trial = run_mutated(mutant, *mutant.tests, "-x", "-q", "--timeout=60")
    match trial.code:
        case 0:
            return "SURVIVED"
        case 1 if trial.failed:
            return f"killed by {trial.failed[0]}"
        case _ if trial.code == BROKEN:
            return "BROKEN: its SQL is wrong, or a fixture fails with it"
        case _:
            return f"BROKEN: pytest ended with {trial.code}"


def _find(mutants: list[Mutant], tests: str, jobs: int) -> int:
    def look(mutant: Mutant) -> None:
        trial = run_mutated(mutant, *tests.split(), "-q", "--timeout=60", "--tb=line")
        lines = trial.failed or ["nobody"]
        console.print("\n  ".join([mutant.name, *lines]), markup=False, highlight=False)

    with ThreadPoolExecutor(jobs) as several:
        list(several.map(look, mutants))
    return 0


def _show(mutants: list[Mutant], answers: list[str]) -> None:
    table = Table("mutant", "file")
    table.add_column("answer", overflow="fold")
    for mutant, answer in zip(mutants, answers, strict=True):
        style = None if answer.startswith("killed") else "red"
        file = mutant.file.removeprefix("store/verbs/")
        table.add_row(mutant.name, file, escape(answer.replace("tests/store/", "")), style=style)
    console.print(table)
    survivors = sum(not answer.startswith("killed") for answer in answers)
    console.print(f"{len(mutants) - survivors} of {len(mutants)} mutants killed")


if __name__ == "__main__":
    sys.exit(main())
