"""The catalogue of announced tasks: find a task by name, check arguments by its schema."""

import difflib
from collections.abc import Collection, Mapping
from typing import Any

from tenure.control.operation import Operation
from tenure.domain.job import JSON
from tenure.domain.values import shown
from tenure.errors import InputRefused
from tenure.store.calls import task_calls
from tenure.store.task_results import KnownTask

_MAX_MISTAKES = 10  # in one message


def known_task(
    own: Collection[str], name: str, *, unannounced: bool
) -> Operation[KnownTask | None]:
    """Return an announced task; None if the job may wait for its announcement.

    A task that was not announced is refused with the nearest name, including those in ``own``.
    """
    found: tuple[KnownTask, ...] = yield task_calls.tasks(name)
    if found:
        return found[0]
    if unannounced:
        return None
    everything: tuple[KnownTask, ...] = yield task_calls.tasks()
    names = sorted({*own, *(task.name for task in everything)})
    if names:
        raise InputRefused(
            f"there is no task {shown(name)}; {nearest(name, names)}. If it is still to come, let "
            f'the job wait: --unannounced, or "unannounced": true'
        )
    raise InputRefused(
        f"there is no task {shown(name)}: no task has been announced yet. Start a worker, run "
        f"`tenure task announce module:app`, or let the job wait: --unannounced, or "
        f'"unannounced": true'
    )


def nearest(name: str, names: Collection[str]) -> str:
    """Return the end of a sentence that suggests a name."""
    [found] = difflib.get_close_matches(name, names, n=1, cutoff=0)
    return f"the nearest is {shown(found)}"


def check_arguments(task: KnownTask, args: Mapping[str, JSON]) -> None:
    """Refuse arguments that do not fit the schema of a task; no value is shown."""
    if task.schema is not None and (mistakes := schema_mistakes(task.schema, dict(args))):
        raise InputRefused(
            f"task {shown(task.name)} cannot take these arguments: {'; '.join(mistakes)}"
        )


def schema_mistakes(schema: Mapping[str, JSON], value: JSON) -> list[str]:
    """Return why a value does not fit a schema; none if the schema itself is wrong."""
    # Here and not above: it takes long to load, and a worker never needs it.
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(schema)
        found = list(Draft202012Validator(schema).iter_errors(value))
    except (SchemaError, RecursionError):
        return []  # the worker checks the value anyway
    return list(dict.fromkeys(_mistake(error, schema) for error in found[:_MAX_MISTAKES]))


def _mistake(error: Any, schema: Mapping[str, JSON]) -> str:
    where = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.path)[1:]
    about = f"{where}: " if where else ""
    match error.validator:
        case "required":
            missing = [name for name in error.validator_value if name not in error.instance]
            return "; ".join(f"{f'{where}.' * bool(where)}{name} is missing" for name in missing)
        case "additionalProperties" if not where:
            known = ", ".join(schema.get("properties", {})) or "nothing"
            alien = [name for name in error.instance if name not in schema.get("properties", {})]
            return "; ".join(
                f"there is no parameter {shown(name)}; it takes {known}" for name in alien
            )
        case "type":
            kinds = error.validator_value
            kinds = [kinds] if isinstance(kinds, str) else kinds
            return f"{about}it takes {' or '.join(_KINDS.get(kind, kind) for kind in kinds)}"
        case "enum" | "const":
            return f"{about}it is not one of the allowed values"
        case "anyOf" | "oneOf":
            return f"{about}it has none of the allowed forms"
        case rule:
            return f"{about}it breaks the rule {rule} {shown(error.validator_value)}"


_KINDS = {
    "integer": "a whole number",
    "number": "a number",
    "string": "a text",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
