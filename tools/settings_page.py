"""Generate the tables of settings."""

import dataclasses
from datetime import timedelta
from typing import Any

from tenure.config import PREFIX, Settings
from tenure.domain.duration import in_words
from tenure.domain.retry import Retry
from tools.blocks import filled, table
from tools.source import Field, fields_of


def settings_page(page: str) -> str:
    defaults = {field.name: _default(field) for field in dataclasses.fields(Settings)}
    parts = []
    groups: dict[str, list[Field]] = {}
    for field in fields_of(Settings):
        groups.setdefault(field.group.rstrip("."), []).append(field)
    for title, fields in groups.items():
        rows = [
            (
                f"`{field.name}`",
                f"`{PREFIX}{field.name.upper()}`",
                defaults[field.name],
                _meaning(field),
            )
            for field in fields
        ]
        heading, _, note = title.partition("; ")
        shown = table(("setting", "variable", "default", "meaning"), *rows)
        parts += [f"## {heading}", *([f"`{note[:4]}`{note[4:]}."] if note else []), shown]
    return filled(page, "settings", "\n\n".join(parts))


def _meaning(field: Field) -> str:
    if field.kind.startswith("Literal"):
        choices = field.kind.removeprefix("Literal[").removesuffix("]").replace("'", "`")
        return f"{choices}{': ' if field.meaning else ''}{field.meaning}"
    return field.meaning


def _default(field: "dataclasses.Field[Any]") -> str:
    value = field.default
    if value is dataclasses.MISSING:
        assert field.default_factory is not dataclasses.MISSING
        value = field.default_factory()
    match value:
        case None:
            return "none"
        case timedelta():
            return f"`{in_words(value)}`"
        case Retry():
            return f"`{value.max}` retries"
        case int():
            return f"`{value:,}`".replace(",", "_") if value >= 10_000 else f"`{value}`"
        case _:
            return f"`{value}`"
