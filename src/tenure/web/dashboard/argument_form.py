"""A form for the arguments of a task, made from their JSON Schema.

The form only suggests: what was filled in is checked as the arguments of every other caller are.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from tenure.domain.job import JSON
from tenure.errors import InputRefused
from tenure.web.dashboard.form import Form

PREFIX = "arg."
WHOLE = "args"  # the field for all arguments of a task without a schema
_KINDS = {"string": "text", "integer": "number", "number": "number", "boolean": "choice"}
_MAX_CHOICES = 100


@dataclass(frozen=True)
class Field:
    name: str
    kind: str  # text, number, choice or json
    is_required: bool = False
    hint: str = ""
    choices: tuple[str, ...] = ()  # as JSON

    @property
    def key(self) -> str:
        return f"{PREFIX}{self.name}"

    def read(self, form: Form) -> JSON:
        """Return the argument that was filled in; a number that is none stays a text."""
        text = form.get(self.key, "")
        return text if self.kind == "text" else form.json(self.key)


def fields_of(schema: Mapping[str, JSON] | None) -> tuple[Field, ...]:
    """Return a field for each argument; none if the schema does not name them."""
    properties = (schema or {}).get("properties")
    if schema is None or not isinstance(properties, dict):
        return ()
    needed = schema.get("required") or ()
    found = [
        _field(name, _resolved(schema, about), name in needed) for name, about in properties.items()
    ]
    return tuple(sorted(found, key=lambda field: not field.is_required))


def read_arguments(fields: tuple[Field, ...], form: Form) -> dict[str, JSON]:
    """Return the arguments that were filled in; the task has a default for the others."""
    if fields:
        return {field.name: field.read(form) for field in fields if form.get(field.key)}
    given = form.json(WHOLE) if form.get(WHOLE) else {}
    if not isinstance(given, dict):
        raise InputRefused('args: must be a JSON object such as {"site": "a"}')
    return given


def _field(name: str, about: Mapping[str, JSON], is_required: bool) -> Field:
    choices = _choices(about)
    kind = "choice" if choices else _KINDS.get(str(about.get("type")), "json")
    return Field(name, kind, is_required, "; ".join(_hints(about)), choices)


def _choices(about: Mapping[str, JSON]) -> tuple[str, ...]:
    if about.get("type") == "boolean":
        return ("true", "false")
    values = about.get("enum")
    if not isinstance(values, list) or len(values) > _MAX_CHOICES:
        return ()
    return tuple(msgspec.json.encode(value).decode() for value in values)


def _hints(about: Mapping[str, JSON]) -> Iterator[str]:
    if isinstance(about.get("description"), str):
        yield about["description"]
    if isinstance(about.get("format"), str):
        yield about["format"]
    for name, words in (("minimum", "at least"), ("maximum", "at most")):
        if name in about:
            yield f"{words} {about[name]}"
    if about.get("default") is not None:
        yield f"default: {msgspec.json.encode(about['default']).decode()}"


def _resolved(schema: Mapping[str, JSON], about: Any) -> Mapping[str, JSON]:
    """Follow a reference, and take the other half of "or null"."""
    if not isinstance(about, dict):
        return {}
    known: Mapping[str, JSON] = about
    options = [choice for choice in about.get("anyOf") or () if choice != {"type": "null"}]
    if len(options) == 1 and isinstance(options[0], dict):
        known = {**options[0], **{name: about[name] for name in about if name != "anyOf"}}
    reference = known.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/$defs/"):
        found = (schema.get("$defs") or {}).get(reference.removeprefix("#/$defs/"))
        return {**found, **known} if isinstance(found, dict) else known
    return known
