"""The second line of defence on the wire: one message that cannot be sent or read costs its own
job a sentence, never its runner and with it the neighbours.

The first line is the context, which refuses such values where the job hands them over.
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
    """Return something that can be sent in place of a message that cannot; refuse if there is
    nothing."""
    match message:
        case AttemptReports(said):
            return AttemptReports(tuple(_sendable(one, unsent) for one in said))
        case Endings(ended):
            return Endings(tuple(_sendable(one, unsent_ending) for one in ended))
        case _:
            return _nearest(message)


def _sendable(item: T, replacement: Callable[[T, str], T]) -> Any:
    try:
        _encode(item)
    except Exception:  # noqa: BLE001 - whatever it is, the neighbours are not to pay for it
        try:
            return _nearest(item)
        except InputRefused as refusal:
            return replacement(item, str(refusal))
    return item


def unsent(said: AttemptReport, why: str) -> AttemptReport:
    """Return the message that replaces one of a job that cannot be sent."""
    return _lost_words(said.run, why)


def unsent_ending(ended: AttemptEnded, why: str) -> AttemptEnded:
    """Return the message that replaces an ending that cannot be sent."""
    left = ended.left if isinstance(ended.left, str) else ""
    return _lost_ending(ended.run, why, left)


def readable(body: bytes | memoryview, problem: msgspec.ValidationError) -> FromRunner:
    """Return the message in this frame, with a sentence in place of each part that does not have
    the form it should have; raise the problem if that leaves nothing."""
    match msgspec.msgpack.decode(body):
        case ["AttemptReports", [*said]]:
            return AttemptReports(tuple(_read(said, AttemptReport, _lost_words, problem)))
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


def _lost_words(run: int, why: str) -> AttemptReport:
    return AttemptReport(
        run, logs=(("error", f"something that this job said cannot be sent: {why}"),)
    )


def _lost_ending(run: int, why: str, left: str = "") -> AttemptEnded:
    error = {"type": "tenure.InputRefused", "message": f"how it ended cannot be sent: {why}"}
    return AttemptEnded(run, "failed", error=error, left=left)


def _nearest(item: Any) -> Any:
    """The item as near as msgpack comes to it."""
    try:
        nearest = _writable(msgspec.to_builtins(item, builtin_types=(bytes,), enc_hook=repr))
        _encode(nearest)
    except Exception as error:  # noqa: BLE001 - it may hold the code of somebody else
        raise InputRefused(f"a value cannot be sent to the worker: {shown(error)}") from None
    return nearest


def _writable(value: Any) -> Any:
    match value:
        case str():
            return storable_text(value)
        case int() if not -(1 << 63) <= value < 1 << 64:
            return str(value)
        case dict():
            return {_writable(name): _writable(one) for name, one in value.items()}
        case list() | tuple():
            return [_writable(one) for one in value]
        case _:
            return value
