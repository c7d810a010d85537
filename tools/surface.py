"""The public surface as text, one file for each kind, so that a review sees every change.

``make surface`` writes the files; ``tests/public/test_surface.py`` compares them.
"""

import dataclasses
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from enum import Enum
from functools import cache
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any

import typer

from tenure import Settings, Tenure
from tenure.cli.main import app as commands
from tenure.config import PREFIX
from tenure.metrics import SERIES
from tenure.store.store import Method
from tenure.web import create_app
from tools import public
from tools.docs import public_verbs
from tools.python_page import OPTIONS
from tools.source import fields_of, own_fields_of, signatures_of

FOLDER = Path(__file__).parent.parent / "tests" / "public" / "surface"


def python() -> Iterator[str]:
    """Yield every public name with its signature or fields."""
    for module, names in public.names().items():
        yield f"{module}"
        for name, value in names.items():
            yield from (f"  {line}" for line in _name(name, value))
    yield "keyword options"
    for home, options in OPTIONS.items():
        for name in options:
            fields = fields_of(getattr(import_module(home), name))
            yield f"  {name}: {', '.join(f'{it.name}: {it.kind}' for it in fields)}"


def sql() -> Iterator[str]:
    """Yield every public verb with its arguments."""
    for name, text in sorted(public_verbs().items()):
        found = re.search(r"FUNCTION \w+\.(\w+)\(([\s\S]*?)\)\s+RETURNS (\w+)", text)
        if found is None or found[1] != name:
            raise SystemExit(f"{name}.sql does not declare the function {name}")
        yield f"{name}({' '.join(found[2].split())}) -> {found[3]}"


def rest() -> Iterator[str]:
    """Yield every path with its methods, parameters and the model of its body."""
    api = create_app(Tenure("postgresql://nowhere")).openapi()
    for path, methods in sorted(api["paths"].items()):
        for method, operation in methods.items():
            names = [it["name"] for it in operation.get("parameters", ()) if it["in"] == "query"]
            query = f" ?{'&'.join(names)}" if names else ""
            yield f"{method.upper()} {path}{query}{_body(operation)}"
    for name, model in sorted(api["components"]["schemas"].items()):
        if fields := model.get("properties"):
            yield f"{name}: {', '.join(fields)}"


def cli() -> Iterator[str]:
    """Yield every command with its arguments and options."""

    def lines(command: Any, path: str) -> Iterator[str]:
        if below := getattr(command, "commands", None):
            for name, inner in sorted(below.items()):
                yield from lines(inner, f"{path} {name}")
            return
        words = [
            "|".join((*it.opts, *it.secondary_opts))
            if it.param_type_name == "option"
            else str(it.name).upper()
            for it in command.params
        ]
        yield " ".join([path, *words])

    return lines(typer.main.get_command(commands), "tenure")


def settings() -> Iterator[str]:
    """Yield every setting with its variable, type and default."""
    kinds = {field.name: field.kind for field in fields_of(Settings)}
    for field in dataclasses.fields(Settings):
        made = field.default_factory
        default = field.default if made is dataclasses.MISSING else made()
        yield f"{PREFIX}{field.name.upper()}: {kinds[field.name]} = {default}"


def metrics() -> Iterator[str]:
    """Yield every metric with its kind and labels."""
    for series in SERIES.values():
        yield f"{series.name} {series.kind} {{{', '.join(series.labels)}}} source={series.source}"


KINDS: dict[str, Callable[[], Iterator[str]]] = {
    "python": python,
    "sql": sql,
    "rest": rest,
    "cli": cli,
    "settings": settings,
    "metrics": metrics,
}


def text(kind: str) -> str:
    """Return the surface of this kind as it is now."""
    return "".join(f"{line}\n" for line in KINDS[kind]())


def main() -> int:
    """Write the files."""
    FOLDER.mkdir(exist_ok=True)
    for kind in KINDS:
        (FOLDER / f"{kind}.txt").write_text(text(kind))
    return 0


def _name(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, FunctionType):
        yield from map(_in_a_line, signatures_of(value))
    elif not inspect.isclass(value):
        yield f"{name}: {type(value).__name__}"
    elif issubclass(value, Enum):
        yield f"enum {name}: {', '.join(f'{it.name}={it.value}' for it in value)}"
    else:
        ours = [it.__name__ for it in value.__bases__ if it.__module__.startswith("tenure")]
        yield f"class {name}{f'({ours[0]})' if ours else ''}"
        yield from (f"  {line}" for line in _members(value))


def _members(cls: type) -> Iterator[str]:
    """Yield what a class has, by itself or from bases that are private."""
    if init := vars(cls).get("__init__"):
        yield from _signature(init)
    members: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if base is not cls and (not base.__module__.startswith("tenure.") or _is_public(base)):
            continue
        for field in own_fields_of(base):
            if field.kind:
                default = f" = {field.default}" if field.default else ""
                yield f"{field.name}: {field.kind}{default}"
        members |= vars(base)
    for name, value in sorted(members.items()):
        found = getattr(value, "__func__", value)
        if name.startswith("_"):
            continue
        if isinstance(found, property) and found.fget is not None:
            yield from (it.replace("()", "", 1) for it in _signature(found.fget))
        elif isinstance(found, FunctionType):
            yield from _signature(found)
        elif isinstance(found, Method):  # its arguments are those in sql.txt
            yield name


@cache
def _public() -> frozenset[int]:
    return frozenset(id(it) for names in public.names().values() for it in names.values())


def _is_public(cls: type) -> bool:
    return id(cls) in _public()


def _signature(function: Any) -> Iterator[str]:
    made_here = function.__code__.co_filename == "<string>"  # by dataclasses
    if made_here:
        return
    yield from map(_in_a_line, signatures_of(function))


def _in_a_line(signature: str) -> str:
    return re.sub(r"\(\s+|,\s+\)|\s+", lambda it: it[0].strip(", \n") or " ", signature)


def _body(operation: dict[str, Any]) -> str:
    for content in operation.get("requestBody", {}).get("content", {}).values():
        schema = content["schema"]
        named = [it.get("$ref", "") for it in schema.get("anyOf", [schema])]
        found = [it.rpartition("/")[2] for it in named if it]
        return f" <- {' | '.join(found)}" if found else ""
    return ""


if __name__ == "__main__":
    sys.exit(main())
