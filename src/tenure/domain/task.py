"""The options of a task function: as an author writes them, and as they are meant."""

import dataclasses
import difflib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, Self, TypedDict

from tenure.domain import bounds
from tenure.domain.bounds import LEAST_MEMORY
from tenure.domain.budget import Amount, Budget
from tenure.domain.duration import duration, in_words
from tenure.domain.job import JSON
from tenure.domain.lifecycle import Rung
from tenure.domain.retry import Retry
from tenure.domain.values import shown
from tenure.errors import InputRefused, SettingInvalid

Length = timedelta | str | int | float
LastRung = Rung | Literal["asked", "interrupted", "terminated", "killed"]
Executor = Literal["async", "process", "thread", "command"]

_BYTES = {
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "kib": 1 << 10,
    "mib": 1 << 20,
    "gib": 1 << 30,
}
_MEMORY = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,6})?)\s*([kmg]?i?b)", re.IGNORECASE)


class WrittenOptions(TypedDict, total=False):
    """What may be said of a task function, and again of each job."""

    queue: str
    priority: int
    retry: Retry | int | None
    timeout: Length | None
    deadline: Length | None
    grace: Length | None
    ask_for: Length | None
    last_rung: LastRung
    block_on: Sequence[Literal["paused", "failed"]]
    budget: Mapping[str, Amount] | None
    on_budget: Literal["fail", "pause"]
    pools: Sequence[str]
    memory: int | str | None
    preserve_artifacts: bool
    cancel_pauses: bool
    close_timeout: Length | None
    orphan: Literal["retry", "fail"] | None
    tags: Sequence[str]


@dataclass(frozen=True)
class JobOptions:
    """How the jobs of a task are run. None: as the settings say."""

    queue: str = "default"
    priority: int = 0
    retry: Retry | None = None
    timeout: timedelta | None = None  # for one attempt
    deadline: timedelta | None = None  # for the whole job, from its enqueue on
    grace: timedelta | None = None  # from the request of a stop to the kill
    ask_for: timedelta | None = None  # of the grace, before code that was asked is interrupted
    last_rung: Rung | None = None  # the furthest a stop may go
    block_on: tuple[str, ...] = ("paused", "failed")  # in these states it blocks its target
    budget: Mapping[str, int | float] | None = None
    on_budget: str = "fail"  # or pause
    pools: tuple[str, ...] = ()
    memory: int | None = None  # bytes
    preserve_artifacts: bool = True
    cancel_pauses: bool = False  # a plain cancel pauses it instead
    close_timeout: timedelta | None = None  # for one resource to close before it is forced
    orphan: str | None = None
    tags: tuple[str, ...] = ()

    def changed(self, written: Mapping[str, Any]) -> Self:
        """These options with some of them said anew; a sentence for each that is not possible."""
        refuse_unknown(written, _READERS)
        new = dataclasses.replace(
            self, **{name: _READERS[name](name, value) for name, value in written.items()}
        )
        new.argue(new.grace)
        return new

    def argue(self, grace: timedelta | None) -> None:
        """Refuse an ask_for that does not fit into the grace."""
        if self.ask_for is not None and grace is not None and self.ask_for > grace:
            raise SettingInvalid(
                f"ask_for: {in_words(self.ask_for)} of asking do not fit into a grace of "
                f"{in_words(grace)}"
            )

    def for_the_worker(self) -> dict[str, JSON]:
        """What the worker has to know, as JSON; without what is as it is by default.

        The deadline is not in it: it is counted from the enqueue on.
        """
        told: dict[str, JSON] = {}
        for name in ("timeout", "grace", "ask_for", "close_timeout"):
            if (length := getattr(self, name)) is not None:
                told[name] = in_words(length)
        if self.retry is not None:
            told["retry"] = self.retry.as_options()
        for name in ("last_rung", "memory", "preserve_artifacts", "cancel_pauses", "on_budget"):
            if (value := getattr(self, name)) != getattr(_DEFAULTS, name):
                told[name] = str(value) if name == "last_rung" else value
        return told

    def described(self) -> dict[str, JSON]:
        """All that is not as it is by default, as JSON."""
        told = self.for_the_worker()
        for name in ("queue", "priority", "block_on", "budget", "pools", "orphan", "tags"):
            if (value := getattr(self, name)) != getattr(_DEFAULTS, name):
                told[name] = list(value) if isinstance(value, tuple) else value
        if self.deadline is not None:
            told["deadline"] = in_words(self.deadline)
        return told


_DEFAULTS = JobOptions()
# What a worker has to know; the rest is for the database.
OF_WORKERS = frozenset(
    {
        *("timeout", "deadline", "grace", "ask_for", "close_timeout", "retry"),
        *("last_rung", "memory", "preserve_artifacts", "cancel_pauses", "on_budget"),
    }
)


def refuse_unknown(names: Collection[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            [nearest] = difflib.get_close_matches(name, known, n=1, cutoff=0)
            raise SettingInvalid(f"{name}: there is no such option; the nearest is {nearest}")


def read_length(name: str, value: Any) -> timedelta | None:
    try:
        length = None if value is None else duration(value)
    except InputRefused as refusal:
        raise SettingInvalid(f"{name}: {refusal}") from None
    if length is not None:
        _refuse_beyond(name, length)
    return length


def read_text(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise SettingInvalid(f"{name}: it takes a text that is not empty, not {shown(value)}")
    _refuse_beyond(name, value)
    return value


def _refuse_beyond(name: str, value: Any) -> None:
    if name in bounds.BOUNDS and (wrong := bounds.complaint(name, value)) is not None:
        raise SettingInvalid(f"{name}: {wrong}")


def read_last_rung(name: str, value: Any) -> Rung:
    allowed = [str(rung) for rung in Rung if rung is not Rung.EXPIRED]
    return Rung(_one_of(name, value, *allowed))


def _positive_length(name: str, value: Any) -> timedelta | None:
    length = read_length(name, value)
    if length is not None and not length:
        raise SettingInvalid(f"{name}: it must be longer than 0s")
    return length


def _priority(name: str, value: Any) -> int:
    _refuse_beyond(name, value)
    return int(value)


def _retry(name: str, value: Any) -> Retry | None:
    if value is None or isinstance(value, Retry):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return Retry(max=value)
    raise SettingInvalid(f"{name}: it takes a Retry or a number of retries, not {shown(value)}")


def _texts(name: str, value: Any) -> tuple[str, ...]:
    if (
        isinstance(value, str)
        or not isinstance(value, Collection)
        or not all(isinstance(text, str) and text for text in value)
    ):
        raise SettingInvalid(f"{name}: it takes a list of texts, not {shown(value)}")
    _refuse_beyond(name, value)
    return tuple(value)


def _block_on(name: str, value: Any) -> tuple[str, ...]:
    texts = _texts(name, value)
    if not set(texts) <= {"paused", "failed"}:
        raise SettingInvalid(
            f"{name}: it takes 'paused', 'failed', both or none, not {shown(value)}"
        )
    return texts


def read_budget(name: str, value: Any) -> Mapping[str, int | float] | None:
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise SettingInvalid(f"{name}: it takes {{'unit': limit, ...}}, not {shown(value)}")
    limits = Budget(value).limits
    return {unit: at if isinstance(at, int) else float(at) for unit, at in limits.items()}


def _memory(name: str, value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, str) and (parts := _MEMORY.fullmatch(value.strip())):
        value = round(float(parts[1]) * _BYTES[parts[2].lower()])
    if isinstance(value, bool) or not isinstance(value, int):
        raise SettingInvalid(
            f'{name}: it takes bytes or a text such as "512MB", not {shown(value)}'
        )
    if not LEAST_MEMORY <= value < 1 << 63:
        raise SettingInvalid(
            f"{name}: no job can run in {value} bytes; it takes at least {LEAST_MEMORY}, or a text "
            f'such as "512MB"'
        )
    return value


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise SettingInvalid(f"{name}: it takes True or False, not {shown(value)}")
    return value


def _one_of(name: str, value: Any, *choices: str) -> str:
    if value not in choices:
        allowed = " or ".join(map(repr, choices))
        raise SettingInvalid(f"{name}: it takes {allowed}, not {shown(value)}")
    return str(value)


_READERS: Mapping[str, Callable[[str, Any], Any]] = {
    "queue": read_text,
    "priority": _priority,
    "retry": _retry,
    "timeout": _positive_length,
    "deadline": _positive_length,
    "grace": read_length,
    "ask_for": read_length,
    "last_rung": read_last_rung,
    "block_on": _block_on,
    "budget": read_budget,
    "on_budget": lambda name, value: _one_of(name, value, "fail", "pause"),
    "pools": _texts,
    "memory": _memory,
    "preserve_artifacts": _flag,
    "cancel_pauses": _flag,
    "close_timeout": read_length,
    "orphan": lambda name, value: None if value is None else _one_of(name, value, "retry", "fail"),
    "tags": _texts,
}
