"""Every name of ours in the table of names exists; every name of theirs has a line that runs."""

import inspect
import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from tools import public

from tenure import config
from tenure.app import TaskOptions
from tenure.cli.main import app as commands
from tenure.config import Settings
from tenure.control.client import Client
from tenure.control.enqueue_options import EnqueueOptions
from tenure.control.job_operations import StopArguments
from tenure.domain.job import Job
from tenure.domain.lifecycle import Status
from tenure.observe.series import SERIES
from tenure.resources import CleanupReport
from tenure.web import create_app
from tests.conftest import wipe
from tests.docs.reading import code
from tests.docs.running import run
from tests.workers import ROOT

PAGE = ROOT / "docs" / "names.md"
TABLES = {
    title: text
    for title, _, text in (part.partition("\n") for part in PAGE.read_text().split("\n## ")[1:])
    if "| theirs | ours | difference |" in text
}
CODE = dict(zip(TABLES, code(PAGE, "python"), strict=True))
HOMES = (*public.MODULES, "tenure.contrib")

_ROW = re.compile(r"^\| (?!theirs|---)(.+?) \| (.*?) \| (.*?) ?\|$", re.MULTILINE)
_NAME = re.compile(r"(?:(\b[a-z]+) )?`([^`]+)`")
_STATUS = re.compile(r"\b[A-Z]{4,}\b")
_TELLS = re.compile(r"print\(.*\)  # (.*)")
NO_NAMES = {"GET", "ID", "POST"}


def names() -> list[tuple[str, str]]:
    """What stands in the column *ours*: the kind of each name, and the name."""
    assert len(TABLES) == 5
    return [
        found
        for system in TABLES.values()
        for row in _ROW.findall(system)
        for found in _NAME.findall(row[1])
    ]


def is_in_python(name: str) -> bool:
    first, *rest = name.split(".")
    for home in HOMES:
        found: Any = getattr(import_module(home), first, None)
        if found is None and home == "tenure.contrib":
            found = import_module(f"{home}.alembic") if first == "alembic" else None
        if found is not None:
            return _has(found, rest)
    return False


def _has(found: Any, rest: list[str]) -> bool:
    for part in rest:
        if not hasattr(found, part):
            # What only an instance has: the source says so.
            return f"self.{part}" in inspect.getsource(found)
        found = getattr(found, part)
    return True


@cache
def routes() -> frozenset[str]:
    told = create_app(Client("postgresql://nowhere")).openapi()
    return frozenset(
        f"{method.upper()} {path}" for path, methods in told["paths"].items() for method in methods
    )


def is_a_command(text: str) -> bool:
    program, *words = text.split()
    found: Any = typer.main.get_command(commands)
    for word in words:
        if word.startswith("--"):
            continue
        if word not in getattr(found, "commands", {}):
            return False
        found = found.commands[word]
    known = {name for param in found.params for name in (*param.opts, *param.secondary_opts)}
    return program == "tenure" and {word for word in words if word.startswith("--")} <= known


@cache
def alerts() -> frozenset[str]:
    rules = yaml.safe_load((ROOT / "deploy" / "prometheus" / "tenure.rules.yml").read_text())
    return frozenset(rule["alert"] for group in rules["groups"] for rule in group["rules"])


OPTIONS = {
    name
    for options in (TaskOptions, EnqueueOptions, StopArguments)
    for name in options.__annotations__
}
VERBS = {path.stem for path in (ROOT / "src" / "tenure" / "store" / "verbs").rglob("*.sql")}
EXISTS: Mapping[str, Callable[[str], bool]] = {
    "": is_in_python,
    "verb": VERBS.__contains__,
    "setting": Settings.names().__contains__,
    "metric": SERIES.__contains__,
    "command": is_a_command,
    "route": lambda name: name in routes(),
    "status": lambda name: name in set(Status),
    "column": set(Job.__struct_fields__).__contains__,
    "option": OPTIONS.__contains__,
    "key": CleanupReport.__annotations__.__contains__,
    "alert": lambda name: name in alerts(),
    "variable": lambda name: name == config.SHUTDOWN_GRACE,
    "folder": lambda name: (ROOT / name).is_dir(),
}


def test_every_name_of_ours_exists() -> None:
    told = names()
    assert len(told) > 200
    assert [f"{kind} {name}" for kind, name in told if not EXISTS[kind](name)] == []


@pytest.mark.parametrize("kind", EXISTS)
def test_a_name_that_is_not_there_is_noticed(kind: str) -> None:
    assert not EXISTS[kind]("tenure no-such-thing" if kind == "command" else "no_such_thing")


def test_a_name_that_is_gone_from_its_class_is_noticed() -> None:
    assert is_in_python("Handle.cancel")
    assert not is_in_python("Handle.cancel_softly")
    assert not is_a_command("tenure job cancel --softly")


def theirs(system: str) -> set[str]:
    """Return the words of which the names in the column *theirs* consist."""
    rows = [row[0] for row in _ROW.findall(TABLES[system])]
    quoted = [name for row in rows for _, name in _NAME.findall(row)]
    statuses = [name for row in rows for name in _STATUS.findall(_NAME.sub("", row))]
    words = re.findall(r"[A-Za-z_]{2,}", " ".join([*quoted, *statuses]))
    return set(words) - NO_NAMES


@pytest.mark.parametrize("system", TABLES, ids=TABLES)
def test_every_name_of_a_system_is_in_its_code(system: str) -> None:
    names = theirs(system)
    assert len(names) > 15
    lines = re.sub(r"^\s*#.*$", "", CODE[system], flags=re.MULTILINE)
    assert sorted(name for name in names if not re.search(rf"\b{name}\b", lines)) == []


@pytest.mark.parametrize("system", TABLES, ids=TABLES)
def test_the_code_of_a_system_runs(system: str, shared_database: str, tmp_path: Path) -> None:
    (tmp_path / "names.py").write_text(CODE[system])
    wipe(shared_database)
    try:
        environment = {"TENURE_DATABASE_URL": shared_database, "PYTHONPATH": str(ROOT)}
        said = run("names.py", folder=tmp_path, **environment).splitlines()
    finally:
        wipe(shared_database)
    told = _TELLS.findall(CODE[system])
    assert len(told) == CODE[system].count("print(")
    left = iter(said)  # "in" reads on from the last answer that was found: their order counts
    assert [line for line in told if line not in left] == [], said
