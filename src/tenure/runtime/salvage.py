"""The second line of defence on the wire: a message that cannot be sent or read is replaced by an
error of its own job. It never ends the runner, and with it other jobs.

The first line is the context, which refuses such values when the job passes them.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

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

T = TypeVar("T", AttemptReport, AttemptEnded)

_encode = msgspec.msgpack.Encoder().encode


def sendable(message: Message) -> Any:
    """Return what can be sent in place of a message that cannot; raise InputRefused if nothing."""
    match message:
        case AttemptReports(reports):
            return AttemptReports(tuple(_sendable(report, unsent) for report in reports))
        case Endings(ended):
            return Endings(tuple(_sendable(end, unsent_ending) for end in ended))
        case _:
            return _nearest(message)


def _sendable(item: T, replacement: Callable[[T, str], T]) -> Any:
    try:
        _encode(item)
    except Exception:  # noqa: BLE001 - whatever it is, other jobs must not suffer from it
        try:
            return _nearest(item)
        except InputRefused as refusal:
            return replacement(item, str(refusal))
    return item


def unsent(report: AttemptReport, why: str) -> AttemptReport:
    """Return the report that replaces one that cannot be sent."""
    return _lost_report(report.run, why)


def unsent_ending(ended: AttemptEnded, why: str) -> AttemptEnded:
    """Return the ending that replaces one that cannot be sent."""
    left = ended.left if isinstance(ended.left, str) else ""
    return _lost_ending(ended.run, why, left)


def readable(body: bytes | memoryview, problem: msgspec.ValidationError) -> FromRunner:
    """Return the message in this frame, with an error in place of each malformed part; raise the
    problem if that leaves nothing."""
    match msgspec.msgpack.decode(body):
        case ["AttemptReports", [*reports]]:
            return AttemptReports(tuple(_read(reports, AttemptReport, _lost_report, problem)))
        case ["Endings", [*ended]]:
            return Endings(tuple(_read(ended, AttemptEnded, _lost_ending, problem)))
        case _:
            raise problem


def _read(
    items: Sequence[Any],
    kind: type[T],
    replacement: Callable[[int, str], T],
    problem: msgspec.ValidationError,
) -> list[T]:
    found = []
    for item in items:
        try:
            found.append(msgspec.convert(item, kind))
        except msgspec.ValidationError as why:
            match item:
                case [int(run), *_]:
                    found.append(replacement(run, str(why)))
                case _:
                    raise problem from why
    return found


def _lost_report(run: int, why: str) -> AttemptReport:
    return AttemptReport(
        run, logs=(("error", f"something that this job said cannot be sent: {why}"),)
    )


def _lost_ending(run: int, why: str, left: str = "") -> AttemptEnded:
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
