"""The announcement of a task: its entry in the catalogue of the database."""

import hashlib
import inspect
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from tenure.control.job_drafts import declared_fields
from tenure.control.template import Template
from tenure.domain.job import JSON
from tenure.domain.values import storable_text

if TYPE_CHECKING:
    from tenure.control.task import Task

_MAX_DOC = 10_000  # characters of a docstring
_MAX_SCHEMA = 100_000  # bytes; a larger schema is left out


def announcement(task: "Task[..., Any]") -> dict[str, JSON]:
    """Return the catalogue entry of a task as JSON."""
    doc = inspect.getdoc(task.function)
    return {
        "name": task.name,
        "digest": digest(task),
        "executor": task.executor,
        "doc": None if doc is None else storable_text(doc)[:_MAX_DOC],
        "schema": _schema(task),
        "defaults": msgspec.json.decode(msgspec.json.encode(declared_fields(task))),
        "target": _template(task, "target", task.target),
        "unique": _template(task, "unique", task.unique),
        "limits": [_template(task, "limits", each) for each in task.limits],
        "compensate": task.compensating,
    }


def digest(task: "Task[..., Any]") -> str:
    """Return the same digest for the same task in every process."""
    declared: Mapping[str, JSON] = {
        "name": task.name,
        "executor": task.executor,
        "takes_context": task.takes_context,
        "signature": str(task.signature),
        "options": task.options.described(),
        "target": task.target.text if task.target else None,
        "unique": task.unique.text if task.unique else None,
        "limits": [each.text for each in task.limits],
        "compensate": task.compensating,
        "hooks": sorted(task.hooks),
    }
    try:
        source = inspect.getsource(task.function)
    except (OSError, TypeError):
        source = ""
    return hashlib.sha256(json.dumps([declared, source], sort_keys=True).encode()).hexdigest()


def _schema(task: "Task[..., Any]") -> JSON:
    schema = task.signature.json_schema()
    if schema is None or len(msgspec.json.encode(schema)) > _MAX_SCHEMA:
        return None
    return schema


def _template(task: "Task[..., Any]", option: str, template: Template | None) -> JSON:
    """Return a template in parts, each with the message for an argument that does not fit."""
    if template is None:
        return None
    about = f"task {task.name!r}: {option}: "
    parts = [
        {"text": literal}
        if field is None
        else {"text": literal, "field": field, "refusal": about + template.refusal(field)}
        for literal, field in template.parts
    ]
    return {"text": template.text, "parts": parts}
