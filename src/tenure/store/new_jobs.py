"""Check and encode new jobs."""

import re
from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any

import msgspec

from tenure.domain import bounds
from tenure.domain.bounds import MAX_ARGS_BYTES
from tenure.domain.job import After, EncodedJob, NewJob
from tenure.domain.values import message_text, shown
from tenure.errors import InputRefused

_BOUNDED = (
    *("task", "queue", "key", "owner", "unique", "idempotency", "target", "run_at", "delay"),
    *("priority", "max_attempts", "tags", "pools", "limits", "after", "budget"),
)
_MAX_REASON = 500  # characters of the reason why a value was refused
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


def encode_json(value: Any) -> str:
    """Return JSON that PostgreSQL accepts."""
    try:
        text = _encoder.encode(value).decode("utf-8")
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InputRefused(f"this cannot be written as JSON: {error}") from None
    if "\\u0000" in text and _NUL.search(text):
        raise InputRefused("a string contains the character NUL, which PostgreSQL cannot store")
    return text


def encode_bounded(value: Any, what: str, max_bytes: int) -> bytes:
    """Return a value as JSON that the database accepts; ``what`` names it in a refusal."""
    try:
        refuse_not_json(value)
        text = encode_json(value).encode()
    except Exception as refusal:  # noqa: BLE001 - encoding runs code of the value
        why = message_text(refusal, "the error")[:_MAX_REASON]
        raise InputRefused(f"{what}: {why}") from None
    if len(text) > max_bytes:
        raise InputRefused(
            f"{what} takes {len(text)} bytes, and the maximum is {max_bytes}; store large values "
            f"as artifacts"
        )
    return text


def check_jobs(jobs: Sequence[NewJob]) -> list[int]:
    """Check jobs; return their positions in an order in which each follows the jobs it names."""
    for job in jobs:
        if isinstance(job, EncodedJob):
            continue  # of a task, which has checked it
        if not isinstance(job.args, Mapping):
            raise InputRefused(
                f"the arguments of {_name(job)} are not a JSON object; give {{'name': value, ...}}"
            )
        try:
            msgspec.convert(msgspec.structs.asdict(job), NewJob, from_attributes=True)
        except msgspec.ValidationError as error:
            raise InputRefused(f"{_name(job)} is not a valid job: {error}") from None
        for name in _BOUNDED:
            value = getattr(job, name)
            if value is not None and (wrong := bounds.validation_error(name, value)) is not None:
                raise InputRefused(f"{name} of {_name(job)}: {wrong}")
        for value in (job.args, job.options, job.budget):
            refuse_not_json(value)
        if len(_encode_args(job)) > MAX_ARGS_BYTES:
            raise InputRefused(
                f"the arguments of {_name(job)} are larger than {MAX_ARGS_BYTES} bytes; store "
                f"large values elsewhere and pass their name"
            )
    return _in_order(jobs)


def refuse_not_json(value: Any) -> None:
    """Refuse what would not come back as it was written; see ``bounds.json_error``."""
    if (wrong := bounds.json_error(value)) is not None:
        raise InputRefused(wrong)


def _in_order(jobs: Sequence[NewJob]) -> list[int]:
    if not any(map(_named, jobs)):
        return list(range(len(jobs)))
    by_key = {job.key: job for job in jobs if job.key is not None}
    if len(by_key) < sum(job.key is not None for job in jobs):
        duplicate = next(job for job in jobs if job.key and by_key[job.key] is not job)
        if any(duplicate.key in _named(job) for job in jobs):
            raise InputRefused(
                f"two jobs of this call have the key {duplicate.key!r}, and another refers to it"
            )
    sorter: TopologicalSorter[int] = TopologicalSorter()
    places = {id(job): place for place, job in enumerate(jobs)}
    for place, job in enumerate(jobs):
        needed = [places[id(by_key[key])] for key in _named(job) if key in by_key]
        if place in needed:
            raise InputRefused(f"{_name(job)} cannot come after itself")
        sorter.add(place, *needed)
    try:
        sorter.prepare()
    except CycleError as error:
        way = " -> ".join(_name(jobs[place]) for place in reversed(error.args[1]))
        raise InputRefused(f"these jobs wait for one another in a cycle: {way}") from None
    order: list[int] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        order.extend(ready)
        sorter.done(*ready)
    return order


def _named(job: NewJob) -> list[str]:
    names = [job.parent, *(need.job if isinstance(need, After) else need for need in job.after)]
    return [name for name in names if isinstance(name, str)]


def _name(job: NewJob) -> str:
    return f"job {shown(job.key)}" if job.key is not None else f"a job of task {shown(job.task)}"


def _encode_args(job: NewJob) -> bytes:
    try:
        return _encoder.encode(job.args)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InputRefused(
            f"the arguments of {_name(job)} cannot be written as JSON: {error}"
        ) from None


def _plain(value: Any) -> Any:
    """Return an instance of a subclass of a JSON type as that type, which msgspec requires."""
    match value:
        case str():
            return str.__str__(value)
        case int():
            return int.__int__(value)
        case float():
            return float.__float__(value)
        case _:
            raise TypeError(f"values of the type {type(value).__name__} cannot be")


_encoder = msgspec.json.Encoder(enc_hook=_plain)
