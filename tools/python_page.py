"""The Python API as a page: signatures as they are written, docstrings as they are."""

from importlib import import_module
from typing import Any

from tools.blocks import filled, table
from tools.source import Field, attributes_of, fields_of, signature_of, text_of

GIVEN = ("Task", "Handle", "Context", "Worker")  # nobody makes them by calling the class
TWINS = {"wait": "await_end", "wait_for": "await_for"}  # others have a leading "a"

# Where a class lives, its name, and what of it is for users.
MEMBERS: dict[str, dict[str, tuple[str, ...]]] = {
    "tenure": {
        "Tenure": (
            *("task", "command", "schedule", "worker", "handle", "cancellations"),
            *("check_cancellation_requested", "store", "store_of", "async_store", "astore_of"),
            *("acting_as", "migrate", "drop_tenant", "url", "close"),
        ),
        "Task": ("using", "enqueue", "enqueue_many", "new_job", "on_cancel", "on_failure"),
        "Handle": (
            *("tenant", "status", "job", "explain", "wait", "result", "read", "cancel"),
            *("cancel_at", "pause", "resume", "look", "partials", "artifacts", "children"),
        ),
        "Context": (
            *("job", "attempt", "is_last_attempt", "cancelled", "stop_reason"),
            *("raise_if_cancelled", "shield", "progress", "track", "checkpoint"),
            *("save_checkpoint", "emit", "spend", "flush", "spawn", "wait_for", "slot"),
            *("resources", "artifact", "temp_dir", "transaction"),
        ),
        "Retry": ("attempts", "gives_up", "delay_after"),
        "Settings": ("development", "production", "high_reliability", "replace"),
        "NewJob": (),
        "After": (),
        "Job": (),
        "Snooze": (),
        "Discard": (),
        "Pause": (),
        "Worker": ("start", "drain", "pid"),
    },
    "tenure.stops": {
        "CancellationService": (
            *("cancel_job", "cancel_task", "get_cancellation_status", "record_of", "get_record"),
            *("list_cancellations", "watch", "ends", "on_end", "rollback"),
        ),
        "CancellationResult": (),
        "CancellationRecord": ("result",),
        "CancellationMember": (),
        "CancellationStep": (),
        "CancellationStatus": ("is_final",),
        "Subscription": ("job", "cancellation", "everything", "ends"),
    },
    "tenure.auth": {"AuthorizedClient": (), "Principal": (), "Role": ()},
    "tenure.resources": {
        "CleanupCoordinator": (
            *("add", "enter", "aenter", "register_resource", "remove", "resources"),
            *("cleanup", "cleanup_and_update_job", "close"),
        ),
        "ResourceManager": ("close_gracefully", "force_close", "is_active"),
        "HTTPResourceManager": ("tracked_request", "active_requests"),
        "BrowserResourceManager": ("add_context",),
        "ProcessResourceManager": (),
        "CleanupReport": (),
    },
    "tenure.testing": {"Clock": ("advance",)},
}
FUNCTIONS = {"tenure.web": ("create_app",), "tenure.contrib.alembic": ("upgrade", "downgrade")}
OPTIONS = {
    "tenure.control.job_operations": ("StopOptions", "CancelOptions"),
    "tenure.control.cancellation": ("Manner",),
    "tenure.domain.task": ("WrittenOptions",),
    "tenure.app": ("CommonOptions", "TaskOptions"),
    "tenure.control.enqueue_options": ("EnqueueArguments",),
}


def python_page(page: str) -> str:
    parts = []
    for home, classes in MEMBERS.items():
        for name, members in classes.items():
            parts.append(_class(home, name, members))
    for home, names in FUNCTIONS.items():
        for name in names:
            function = getattr(import_module(home), name)
            parts.append(f"## {home}.{name}\n\n{_described(name, function)}")
    page = filled(page, "classes", "\n\n".join(parts))
    options = [
        getattr(import_module(home), name) for home, names in OPTIONS.items() for name in names
    ]
    return filled(page, "options", "\n\n".join(map(_options, options)))


def _class(home: str, name: str, members: tuple[str, ...]) -> str:
    cls = getattr(import_module(home), name)
    parts = [f"## {name}", f"`from {home} import {name}`", text_of(cls)]
    if hasattr(cls, "__annotations__") and fields_of(cls):
        parts.append(_fields(fields_of(cls)))
    elif "__init__" in vars(cls):
        if name not in GIVEN:
            made = signature_of(cls.__init__).replace("__init__", name).removesuffix(" -> None")
            parts.append(f"```py\n{made}\n```")
        told = [field for field in attributes_of(cls) if field.meaning]
        if told:
            parts.append("\n".join(f"- `{field.name}`: {field.meaning}" for field in told))
    parts += [f"### {name}.{member}\n\n{_member(cls, member)}" for member in members]
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
        head = signature_of(found)
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
    # Columns in which nothing stands are left out.
    head = ("", "type", "default", "")
    keep = [i for i in range(4) if i == 0 or any(row[i] for row in shown)]
    return table(*(tuple(row[i] for i in keep) for row in [head, *shown]))


def _code(text: str) -> str:
    return f"`{text}`" if text else ""
