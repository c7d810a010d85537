"""Tests that are named elsewhere: by mutants, by pages of the documentation."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]


def is_a_test(name: str) -> bool:
    """Tell whether there is such a test: ``tests/cli/test_up.py::test_the_token_is_made_once``."""
    file, _, function = name.partition("::")
    return function.partition("[")[0] in _tests_in(file)


@cache
def _tests_in(file: str) -> frozenset[str]:
    """Return the names of the functions in a test file; none if there is no such file."""
    place = ROOT / file
    if not place.is_file():
        return frozenset()
    tree = ast.parse(place.read_text())
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    names = (node.name for node in tree.body if isinstance(node, functions))
    return frozenset(name for name in names if name.startswith("test"))
