"""Jobs on their way in: refused with a sentence where they cannot be what they say."""

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from graphlib import CycleError, TopologicalSorter
from math import isfinite
from typing import Any

import msgspec

from tenure.config import MOST_ARGS_BYTES
from tenure.domain.job import After, NewJob
from tenure.domain.values import message_text
from tenure.errors import InputRefused

_MOST_LEVELS = 200  # of lists and objects inside one another
_MOST_WHY = 500  # characters of why a value was refused
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


def as_json(value: Any) -> str:
    """JSON that PostgreSQL takes as it is."""
    try:
        text = _encoder.encode(value).decode("utf-8")
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InputRefused(f"this cannot be written as JSON: {error}") from None
    if "\\u0000" in text and _NUL.search(text):
        raise InputRefused("a text contains the character NUL, which PostgreSQL cannot store")
    return text


def written(value: Any, what: str, most: int) -> bytes:
    """A value as JSON that the database takes, or a refusal that says what it was."""
    try:
        refuse_not_json(value)
        text = as_json(value).encode()
    except Exception as refusal:  # noqa: BLE001 - the value is the code of somebody else
        why = message_text(refusal, "the error")[:_MOST_WHY]
        raise InputRefused(f"{what}: {why}") from None
    if len(text) > most:
        raise InputRefused(
            f"{what} takes {len(text)} bytes, and {most} are the most; store large things as "
            f"artifacts"
        )
    return text


def checked(jobs: Sequence[NewJob]) -> list[int]:
    """The places of the jobs in an order in which each comes after what it names.

    Refused when there is no such order, or when a job cannot be what it says.
    """
    for job in jobs:
        if not isinstance(job.args, Mapping):
            raise InputRefused(
                f"the arguments of {_name(job)} are not a JSON object; give {{'name': value, ...}}"
            )
        try:
            msgspec.convert(msgspec.structs.asdict(job), NewJob, from_attributes=True)
        except msgspec.ValidationError as error:
            raise InputRefused(f"{_name(job)} is not what a job is made of: {error}") from None
        if job.run_at is not None and job.run_at.tzinfo is None:
            raise InputRefused(f"run_at of {_name(job)} has no time zone; give it one")
        if job.delay is not None and job.delay < timedelta(0):
            raise InputRefused(
                f"the delay of {_name(job)} is negative; it starts now at the soonest"
            )
        if not -(1 << 15) <= job.priority < 1 << 15:
            raise InputRefused(f"the priority of {_name(job)} lies beyond -32768 to 32767")
        if not 1 <= job.max_attempts < 1 << 15:
            raise InputRefused(f"max_attempts of {_name(job)} lies beyond 1 to 32767")
        refuse_not_json([job.args, job.options, job.budget])
        if len(_encode_args(job)) > MOST_ARGS_BYTES:
            raise InputRefused(
                f"the arguments of {_name(job)} are larger than {MOST_ARGS_BYTES} bytes; store "
                f"large things elsewhere and pass their name"
            )
    return _in_order(jobs)


def refuse_not_json(value: Any, level: int = 0) -> None:
    """Refuse what would not come back as it was written: NaN and infinity, which JSON lacks, and
    what is nested more deeply than readers can follow."""
    if level > _MOST_LEVELS:
        raise InputRefused(f"it is nested more than {_MOST_LEVELS} levels deep")
    # The methods of the plain types, because those of subclasses may do anything.
    match value:
        case float() if not isfinite(value):
            raise InputRefused(f"{float.__repr__(value)} is not a JSON number")
        case dict():
            for inner in dict.values(value):
                refuse_not_json(inner, level + 1)
        case list():
            for inner in list.__iter__(value):
                refuse_not_json(inner, level + 1)
        case tuple():
            for inner in tuple.__iter__(value):
                refuse_not_json(inner, level + 1)
        case set():
            for inner in set.__iter__(value):
                refuse_not_json(inner, level + 1)
        case frozenset():
            for inner in frozenset.__iter__(value):
                refuse_not_json(inner, level + 1)


def _in_order(jobs: Sequence[NewJob]) -> list[int]:
    if not any(map(_named, jobs)):
        return list(range(len(jobs)))
    by_key = {job.key: job for job in jobs if job.key is not None}
    if len(by_key) < sum(job.key is not None for job in jobs):
        twice = next(job for job in jobs if job.key and by_key[job.key] is not job)
        if any(twice.key in _named(job) for job in jobs):
            raise InputRefused(
                f"two jobs of this call have the key {twice.key!r}, and one names it"
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
    return f"job {job.key!r}" if job.key is not None else f"a job of task {job.task!r}"


def _encode_args(job: NewJob) -> bytes:
    try:
        return _encoder.encode(job.args)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InputRefused(
            f"the arguments of {_name(job)} cannot be written as JSON: {error}"
        ) from None


def _plain(value: Any) -> Any:
    """A subclass of a JSON type as that type; msgspec takes only the types themselves."""
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
