"""A form for the answer to a question: a field for each part of it, or one for all of it."""

from collections.abc import Mapping
from typing import Any

from tenure.domain.job import JSON
from tenure.errors import InputRefused
from tenure.web.dashboard.argument_form import Field, fields_of, read_arguments
from tenure.web.dashboard.form import Form

_WHOLE = "value"  # a field for the whole answer, as JSON or a text


def answer_fields(schema: Mapping[str, Any]) -> tuple[Field, ...]:
    return fields_of(schema) or _whole(schema)


def read_answer(schema: Mapping[str, Any], form: Form) -> JSON:
    if _WHOLE in form:
        return form.json(_WHOLE)
    fields = fields_of(schema)
    if not fields:
        [field] = _whole(schema)
        form.required(field.key)
        return field.read(form)
    answer = read_arguments(fields, form)
    if not answer:
        raise InputRefused("value: the answer is missing")
    return answer


def _whole(schema: Mapping[str, Any]) -> tuple[Field, ...]:
    about = {name: part for name, part in schema.items() if name != "$defs"}
    properties = {"answer": about}
    return fields_of(
        {"properties": properties, "required": ["answer"], "$defs": schema.get("$defs")}
    )
