"""The public modules: everything that users import comes from one of them."""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import django.conf

ROOT = Path(__file__).parent.parent

MODULES = (
    *("tenure", "tenure.errors", "tenure.stops", "tenure.resources", "tenure.auth", "tenure.web"),
    *("tenure.verbs", "tenure.metrics", "tenure.testing", "tenure.contrib.alembic"),
    *("tenure.contrib.django", "tenure.contrib.mcp", "tenure.contrib.sentry"),
    *("tenure.contrib.pydantic_ai", "tenure.contrib.structlog"),
)
# Where users read or run code. The pages of decisions describe the inside.
_FOLDERS = ("README.md", "docs", "examples", "demo", "deploy")
_INSIDE = ROOT / "docs" / "decisions"
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def names() -> dict[str, dict[str, Any]]:
    """Return what each public module exports, by name."""
    return {name: _exported(name) for name in MODULES}


def private_imports() -> list[str]:
    """Return the imports in pages and examples that reach past the public modules."""
    return [
        f"{path.relative_to(ROOT)}: {name}"
        for path, code in _code()
        for name in _imported(code)
        if not _is_public(name)
    ]


def _exported(module: str) -> dict[str, Any]:
    if not django.conf.settings.configured:  # without a project there is no app
        django.conf.settings.configure(DATABASES={}, USE_TZ=True)
        django.setup()
    found = import_module(module)
    public = getattr(found, "__all__", None)
    if public is None:
        public = [
            name
            for name, value in vars(found).items()
            if not name.startswith("_") and getattr(value, "__module__", None) == module
        ]
    return {name: getattr(found, name) for name in sorted(public)}


def _code() -> Iterator[tuple[Path, str]]:
    for folder in _FOLDERS:
        place = ROOT / folder
        for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if path.suffix == ".py":
                yield path, path.read_text()
            elif path.suffix == ".md" and _INSIDE not in path.parents:
                yield from ((path, block) for block in _BLOCK.findall(path.read_text()))


def _imported(code: str) -> Iterator[str]:
    """Yield ``module`` or ``module.name`` for each import of Tenure."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            yield from (it.name for it in node.names if _is_ours(it.name))
        elif isinstance(node, ast.ImportFrom) and node.module and _is_ours(node.module):
            yield from (f"{node.module}.{it.name}" for it in node.names)


def _is_ours(module: str) -> bool:
    return module.split(".")[0] == "tenure"


def _is_public(name: str) -> bool:
    module, _, last = name.rpartition(".")
    return name in MODULES or (module in MODULES and last in _exported(module))
