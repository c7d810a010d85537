"""The public modules export what they declare, and users need no others."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from tools import public

from tenure._lazy import lazy

LAZY = [name for name in public.MODULES if hasattr(import_module(name), "__getattr__")]


def test_pages_and_examples_import_public_names_only() -> None:
    assert public.private_imports() == []


@pytest.mark.parametrize(
    "code",
    [
        "from tenure.control.handle import Handle",
        "import tenure.domain",
        "from tenure import config",
        "from tenure.web.limits import read",
        "def f():\n    from tenure.store.store import Store",
    ],
)
def test_an_import_from_the_inside_is_noticed(code: str) -> None:
    assert [name for name in public._imported(code) if not public._is_public(name)] != []


@pytest.mark.parametrize("module", public.MODULES)
def test_a_public_module_has_every_name_it_promises(module: str) -> None:
    assert public.names()[module]


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'tenure' has no attribute 'Nothing'"):
        _ = import_module("tenure").Nothing


def test_star_imports_get_every_name() -> None:
    code = "from tenure import *; from tenure.stops import *; print(Tenure, Subscription)"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.mark.parametrize("module", LAZY)
def test_type_checkers_see_the_names_that_are_there_at_run_time(module: str) -> None:
    tree = ast.parse(Path(import_module(module).__file__ or "").read_text())
    [typing] = [node for node in tree.body if isinstance(node, ast.If)]
    declared = {
        (node.module, name.name)
        for node in typing.body
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }
    [homes] = [
        ast.literal_eval(node.args[1])
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == lazy.__name__
    ]
    assert declared == {(home, name) for home, names in homes.items() for name in names}


def test_importing_the_package_loads_nothing_else() -> None:
    code = "import sys, tenure, tenure.stops, tenure.auth, tenure.verbs; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.split()
    ours = {name for name in loaded if name.startswith("tenure")}
    assert ours == {"tenure", "tenure._lazy", "tenure.stops", "tenure.auth", "tenure.verbs"}
    assert "psycopg" not in loaded
