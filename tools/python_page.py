"""Generate the reference of the Python API from signatures and docstrings."""

from enum import Enum
from importlib import import_module
from typing import Any

from tools import public
from tools.blocks import filled, table
from tools.source import Field, attributes_of, fields_of, signature_of, signatures_of, text_of

# Tenure makes these; users do not call the classes.
GIVEN = ("Task", "Handle", "Context", "Worker", "Store", "AsyncStore", "AuthorizedClient")
TWINS = {"wait": "await_end", "wait_for": "await_for"}  # others have a leading "a"

# The members of each class that users need; a class without an entry shows its fields only.
MEMBERS = {
    "Tenure": (
        *("task", "command", "schedule", "worker", "handle", "cancellations"),
        *("check_cancellation_requested", "store", "store_of", "async_store", "astore_of"),
        *("acting_as", "perform", "migrate", "drop_tenant", "end_runner", "url", "close"),
    ),
    "DjangoTenure": ("outside_transaction",),
    "Task": ("using", "enqueue", "enqueue_many", "new_job", "on_cancel", "on_failure"),
    "Handle": (
        *("tenant", "status", "job", "explain", "wait", "result", "read", "cancel"),
        *("cancel_at", "pause", "resume", "inspect", "runners"),
        *("partials", "artifacts", "children"),
    ),
    "Context": (
        *("job", "attempt", "is_last_attempt", "cancelled", "stop_reason"),
        *("raise_if_cancelled", "shield", "progress", "track", "checkpoint"),
        *("save_checkpoint", "emit", "spend", "flush", "spawn", "wait_for", "slot"),
        *("resources", "artifact", "temp_dir", "transaction"),
    ),
    "Retry": ("attempts", "gives_up", "delay_after"),
    "Settings": ("development", "production", "high_reliability", "replace"),
    "Schedule": ("next_after",),
    "Worker": ("start", "drain", "pid"),
    "CancellationService": (
        *("cancel_job", "cancel_task", "get_cancellation_status", "record_of", "get_record"),
        *("list_cancellations", "watch", "ends", "on_end", "rollback"),
    ),
    "CancellationRecord": ("result",),
    "CancellationStatus": ("is_final",),
    "Subscription": ("job", "cancellation", "everything", "ends"),
    "CleanupCoordinator": (
        *("add", "enter", "aenter", "register_resource", "remove", "resources"),
        *("cleanup", "cleanup_and_update_job", "close"),
    ),
    "ResourceManager": ("close_gracefully", "force_close", "is_active"),
    "HTTPResourceManager": ("tracked_request", "active_requests"),
    "BrowserResourceManager": ("add_context",),
    "AuthorizedClient": ("send", "perform", "require"),
    "Clock": ("advance",),
}
# These have a page or a section of their own.
ELSEWHERE = ("tenure.errors",)
OPTIONS = {
    "tenure.domain.stop_options": ("StopDetails", "StopOptions"),
    "tenure.control.job_operations": ("StopArguments",),
    "tenure.domain.options": ("JobOptions",),
    "tenure.app": ("CommonOptions", "TaskOptions"),
    "tenure.control.enqueue_options": ("EnqueueOptions",),
}


def python_page(page: str) -> str:
    parts = []
    for home, names in public.names().items():
        if home not in ELSEWHERE:
            parts += [f"## {home}", text_of(import_module(home))]
            parts += [_name(home, name, value) for name, value in _ordered(names)]
    page = filled(page, "classes", "\n\n".join(parts))
    options = [
        getattr(import_module(home), name) for home, names in OPTIONS.items() for name in names
    ]
    return filled(page, "options", "\n\n".join(map(_options, options)))


def _ordered(names: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return classes with members first, in the order of MEMBERS; option types have a section."""
    rank = {name: place for place, name in enumerate(MEMBERS)}
    shown = [(name, value) for name, value in names.items() if name not in _ALL]
    return sorted(shown, key=lambda it: rank.get(it[0], len(rank)))


def _name(home: str, name: str, value: Any) -> str:
    head = f"### {name}\n\n`from {home} import {name}`"
    if isinstance(value, type):
        return f"{head}\n\n{_class(name, value)}"
    if home == "tenure.verbs":
        call = "\n".join(signatures_of(value))
        return f"{head}\n\n```py\n{call}\n```\n\nReturn a call of [the verb](../verbs.md#{name})."
    return f"{head}\n\n{_described(name, value)}" if callable(value) else head


def _class(name: str, cls: type) -> str:
    parts = [text_of(cls)]
    fields = [it for it in fields_of(cls) if it.kind or issubclass(cls, Enum)]
    if name not in GIVEN and fields:
        parts.append(_fields(fields))
    elif "__init__" in vars(cls):
        if name not in GIVEN:
            made = (
                signature_of(vars(cls)["__init__"])
                .replace("__init__", name)
                .removesuffix(" -> None")
            )
            parts.append(f"```py\n{made}\n```")
        explained = [field for field in attributes_of(cls) if field.meaning]
        if explained:
            parts.append("\n".join(f"- `{field.name}`: {field.meaning}" for field in explained))
    members = MEMBERS.get(name, ())
    parts += [f"#### {name}.{member}\n\n{_member(cls, member)}" for member in members]
    return "\n\n".join(parts)


def _member(cls: type, name: str) -> str:
    found = next(vars(base)[name] for base in cls.__mro__ if name in vars(base))
    twin = TWINS.get(name, f"a{name}")
    described = _described(f"{cls.__name__}.{name}", found)
    return f"{described}\n\n*Async*: `{twin}`." if hasattr(cls, twin) else described


def _described(name: str, found: Any) -> str:
    if isinstance(found, property):
        head = signature_of(found.fget).replace("()", "", 1)
    else:
        found = getattr(found, "__func__", found)
        head = "\n".join(signatures_of(found))
    if not found.__doc__:
        raise SystemExit(f"{name} has no docstring")
    return f"```py\n{head}\n```\n\n{text_of(found)}"


def _options(cls: type) -> str:
    above = [base.__name__ for base in getattr(cls, "__orig_bases__", ()) if base.__name__ in _ALL]
    parts = [f"### {cls.__name__}", text_of(cls) if cls.__doc__ else "", _fields(fields_of(cls))]
    if above:
        parts.append(f"And all of [{above[0]}](#{above[0].lower()}).")
    return "\n\n".join(part for part in parts if part)


_ALL = {name for names in OPTIONS.values() for name in names}


def _fields(fields: list[Field]) -> str:
    shown = [
        (f"`{field.name}`", _code(field.kind), _code(field.default), field.meaning)
        for field in fields
    ]
    # Empty columns are left out.
    head = ("", "type", "default", "")
    keep = [i for i in range(4) if i == 0 or any(row[i] for row in shown)]
    return table(*(tuple(row[i] for i in keep) for row in [head, *shown]))


def _code(text: str) -> str:
    return f"`{text}`" if text else ""
