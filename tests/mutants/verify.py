"""Check the mutants themselves, without a database and without running a test."""

import ast
from collections import Counter
from collections.abc import Iterator, Sequence

from tests.mutants.mutant import Mutant, Stale
from tests.named import is_a_test


def problems(mutants: Sequence[Mutant]) -> list[str]:
    """Return a sentence for everything that keeps a mutant from proving anything."""
    counts = Counter(mutant.name for mutant in mutants)
    repeated = [f"{name}: {n} mutants have this name" for name, n in counts.items() if n > 1]
    return [*repeated, *problems_of_text(mutants), *_problems_of_tests(mutants)]


def problems_of_text(mutants: Sequence[Mutant]) -> Iterator[str]:
    """Check that the text to change is in its file once, and that a changed file is Python."""
    for mutant in mutants:
        try:
            text = mutant.text()
            if mutant.file.endswith(".py"):
                ast.parse(text)
        except Stale as error:
            yield str(error)
        except SyntaxError as error:
            yield f"{mutant.name}: {mutant.file} is no Python with this change: {error}"


def _problems_of_tests(mutants: Sequence[Mutant]) -> Iterator[str]:
    for mutant in mutants:
        if not mutant.tests:
            yield f"{mutant.name}: no test is named that kills it"
        for test in mutant.tests:
            if not is_a_test(test):
                yield f"{mutant.name}: there is no test {test}"
