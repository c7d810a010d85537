"""The second line of defence on the wire: a message that cannot be sent or read is replaced by an
error of its own job. It never ends the runner, and with it other jobs.

The first line is the context, which refuses such values when the job passes them.
"""

from typing import Any

import msgspec

from tenure.domain.values import shown, storable_text
from tenure.errors import InputRefused
from tenure.runtime.messages import (
    AttemptEnded,
    AttemptReport,
    AttemptReports,
    Endings,
    FromRunner,
    Message,
)

_encode = msgspec.msgpack.Encoder().encode


def sendable(message: Message) -> Any:
    """Return what can be sent in place of a message that cannot; raise InputRefused if nothing."""
    match message:
        case AttemptReports(items) | Endings(items):
            batch: Any = type(message)
            return batch(tuple(map(_sendable, items)))
        case _:
            return _nearest(message)


def _sendable(item: AttemptReport | AttemptEnded) -> Any:
    try:
        _encode(item)
    except Exception:  # noqa: BLE001 - whatever it is, other jobs must not suffer from it
        try:
            return _nearest(item)
        except InputRefused as refusal:
            return unsent(item, str(refusal))
    return item


def unsent(item: AttemptReport | AttemptEnded, why: str) -> Any:
    """Return what replaces a report or an ending that cannot be sent."""
    left = getattr(item, "left", "")
    return _lost(type(item), item.run, why, left if isinstance(left, str) else "")


def readable(body: bytes | memoryview, problem: msgspec.ValidationError) -> FromRunner:
    """Return the message in this frame, with an error in place of each malformed part; raise the
    problem if that leaves nothing."""
    match msgspec.msgpack.decode(body):
        case ["AttemptReports", [*reports]]:
            return AttemptReports(tuple(_read(it, AttemptReport, problem) for it in reports))
        case ["Endings", [*ended]]:
            return Endings(tuple(_read(it, AttemptEnded, problem) for it in ended))
        case _:
            raise problem


def _read(item: Any, kind: type, problem: msgspec.ValidationError) -> Any:
    try:
        return msgspec.convert(item, kind)
    except msgspec.ValidationError as why:
        match item:
            case [int(run), *_]:
                return _lost(kind, run, str(why))
        raise problem from why


def _lost(kind: type, run: int, why: str, left: str = "") -> Any:
    if kind is AttemptReport:
        line = f"something that this job said cannot be sent: {why}"
        return AttemptReport(run, logs=(("error", line),))
    error = {"type": "tenure.InputRefused", "message": f"how it ended cannot be sent: {why}"}
    return AttemptEnded(run, "failed", error=error, left=left)


def _nearest(item: Any) -> Any:
    """Return the closest value to the item that msgpack can encode."""
    try:
        nearest = _writable(msgspec.to_builtins(item, builtin_types=(bytes,), enc_hook=repr))
        _encode(nearest)
    except Exception as error:  # noqa: BLE001 - it may run code of a user
        raise InputRefused(f"a value cannot be sent to the worker: {shown(error)}") from None
    return nearest


def _writable(value: Any) -> Any:
    match value:
        case str():
            return storable_text(value)
        case int() if not -(1 << 63) <= value < 1 << 64:
            return str(value)
        case dict():
            return {_writable(name): _writable(member) for name, member in value.items()}
        case list() | tuple():
            return [_writable(member) for member in value]
        case _:
            return value
