"""The options of a job, each declared once.

``JobOptions`` declares the name and type of an option, how a value is checked, its default, and
where it is kept. The keyword arguments of ``@app.task`` and ``Task.using``, the fields of a REST
request, the catalogue and the limits of a worker derive from it.
"""

import difflib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import attrgetter
from types import SimpleNamespace
from typing import Annotated, Any, ClassVar, Literal, Self, TypedDict, get_type_hints

from tenure.domain import bounds
from tenure.domain.bounds import LEAST_MEMORY
from tenure.domain.budget import Amount, Budget
from tenure.domain.duration import Duration, duration, in_words
from tenure.domain.job import JSON, NewJob
from tenure.domain.lifecycle import Rung
from tenure.domain.retry import Retry, RetryFunction, is_plain_function
from tenure.domain.values import refusals_about, shown
from tenure.errors import InputRefused, TenureError

LastRung = Rung | Literal["asked", "interrupted", "terminated", "killed"]
Executor = Literal["async", "process", "thread", "command"]
Reader = Callable[[str, Any], Any]

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


@dataclass(frozen=True)
class Option:
    """The declaration of an option, beside its name and type."""

    read: Reader  # returns the checked value, or raises InputRefused
    default: Any = None
    in_options: bool = False  # kept in the options of a job; else in the column of its name
    setting: Callable[[Any], Any] | None = None  # the setting to use in place of None
    restore: Reader | None = None  # reads a stored value that is not written as it was given
    json: Any = None  # the type in a REST request, where it is not that in Python


def read_duration(name: str, value: Any) -> timedelta | None:
    if value is None:
        return None
    with refusals_about(name):
        read = duration(value)
    _refuse_out_of_bounds(name, read)
    return read


def read_text(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise InputRefused(f"{name}: it takes a text that is not empty, not {shown(value)}")
    _refuse_out_of_bounds(name, value)
    return value


def read_choice(*choices: str) -> Reader:
    def read(name: str, value: Any) -> str:
        if value not in choices:
            *others, last = map(repr, choices)
            allowed = f"{', '.join(others)} or {last}"
            raise InputRefused(f"{name}: it takes {allowed}, not {shown(value)}")
        return str(value)

    return read


def optional(read: Reader) -> Reader:
    return lambda name, value: None if value is None else read(name, value)


def read_last_rung(name: str, value: Any) -> Rung:
    rungs = [str(rung) for rung in Rung if rung is not Rung.EXPIRED]
    return Rung(read_choice(*rungs)(name, value))


def read_budget(name: str, value: Any) -> Mapping[str, int | float] | None:
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise InputRefused(f"{name}: it takes {{'unit': limit, ...}}, not {shown(value)}")
    limits = Budget(value).limits
    return {unit: at if isinstance(at, int) else float(at) for unit, at in limits.items()}


def _refuse_out_of_bounds(name: str, value: Any) -> None:
    if name in bounds.BOUNDS and (wrong := bounds.validation_error(name, value)) is not None:
        raise InputRefused(f"{name}: {wrong}")


def _read_priority(name: str, value: Any) -> int:
    _refuse_out_of_bounds(name, value)
    return int(value)


def _read_retry(name: str, value: Any) -> Retry | None:
    if value is None or isinstance(value, Retry):
        return value
    if isinstance(value, Mapping):
        return Retry.from_options(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return Retry(max=value)
    if is_plain_function(value):
        return Retry(function=value)
    raise InputRefused(
        f"{name}: it takes a Retry, a number of retries or a function, not {shown(value)}"
    )


def read_texts(name: str, value: Any) -> tuple[str, ...]:
    if (
        isinstance(value, str)
        or not isinstance(value, Collection)
        or not all(isinstance(text, str) and text for text in value)
    ):
        raise InputRefused(f"{name}: it takes a list of texts, not {shown(value)}")
    _refuse_out_of_bounds(name, value)
    return tuple(value)


def _read_block_on(name: str, value: Any) -> tuple[str, ...]:
    texts = read_texts(name, value)
    if not set(texts) <= {"paused", "failed"}:
        raise InputRefused(f"{name}: it takes 'paused', 'failed', both or none, not {shown(value)}")
    return texts


def _read_memory(name: str, value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, str) and (parts := _MEMORY.fullmatch(value.strip())):
        value = round(float(parts[1]) * _BYTES[parts[2].lower()])
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputRefused(f'{name}: it takes bytes or a text such as "512MB", not {shown(value)}')
    if not LEAST_MEMORY <= value < 1 << 63:
        raise InputRefused(
            f"{name}: no job can run in {value} bytes; it takes at least {LEAST_MEMORY}, or a text "
            f'such as "512MB"'
        )
    return value


def _read_flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InputRefused(f"{name}: it takes True or False, not {shown(value)}")
    return value


def _restore_deadline(_: str, value: Any) -> datetime:
    """Read the timestamp that the database made of a deadline in seconds."""
    deadline = datetime.fromisoformat(value)
    if deadline.tzinfo is None:
        raise ValueError(f"{value!r} has no time zone")
    return deadline


def _of_worker(read: Reader, default: Any = None, **more: Any) -> Option:
    return Option(read, default, in_options=True, **more)


def _from_setting(name: str, read: Reader = read_duration, **more: Any) -> Option:
    return Option(read, in_options=True, setting=attrgetter(name), **more)


class JobOptions(TypedDict, total=False):
    """Options of a task, which each of its jobs can override. None: as the settings say."""

    queue: Annotated[str, Option(read_text, "default")]
    priority: Annotated[int, Option(_read_priority, 0)]  # higher ones start first
    retry: Annotated[
        Retry | int | RetryFunction | None,
        _from_setting("retry", _read_retry, json=dict[str, Any] | int | None),
    ]  # a function of the error and the context returns the delay, or False to stop
    timeout: Annotated[Duration | None, _of_worker(read_duration)]  # of one attempt
    deadline: Annotated[
        Duration | None, _of_worker(read_duration, restore=_restore_deadline)
    ]  # of the whole job, from its enqueue on
    grace: Annotated[
        Duration | None, _from_setting("stop_grace")
    ]  # from the request of a stop to the kill
    ask_for: Annotated[
        Duration | None, _from_setting("ask_for")
    ]  # part of the grace before code that was asked to stop is interrupted
    last_rung: Annotated[
        LastRung, _of_worker(read_last_rung, setting=lambda settings: Rung(settings.last_rung))
    ]  # the furthest that a stop may go
    block_on: Annotated[
        Sequence[Literal["paused", "failed"]], Option(_read_block_on, NewJob().block_on)
    ]  # the states in which it blocks its target
    budget: Annotated[Mapping[str, Amount] | None, Option(read_budget)]
    on_budget: Annotated[
        Literal["fail", "pause"], _of_worker(read_choice("fail", "pause"), "fail")
    ]  # what happens when the budget is overspent
    pools: Annotated[Sequence[str], Option(read_texts, ())]
    memory: Annotated[int | str | None, _of_worker(_read_memory)]  # bytes, or "512MB"
    preserve_artifacts: Annotated[bool, _of_worker(_read_flag, True)]  # when it is cancelled
    cancel_pauses: Annotated[
        bool, _of_worker(_read_flag, False)
    ]  # a cancel without force pauses it instead
    close_timeout: Annotated[
        Duration | None, _from_setting("close_timeout")
    ]  # for a resource to close before it is forced
    orphan: Annotated[
        Literal["retry", "fail"] | None,
        Option(optional(read_choice("retry", "fail")), setting=attrgetter("on_orphan")),
    ]  # what happens when its worker dies
    tags: Annotated[
        Sequence[str], Option(lambda name, value: read_texts(name, value) or None)
    ]  # labels to find it by


def declared_in(kind: type) -> dict[str, Option]:
    """Return the options that a TypedDict declares, by name."""
    hints = get_type_hints(kind, include_extras=True)
    return {name: hint.__metadata__[0] for name, hint in hints.items()}


JOB_OPTIONS: Mapping[str, Option] = declared_in(JobOptions)
COLUMNS = tuple(name for name in JOB_OPTIONS if name in NewJob.__struct_fields__)
# The fields of a job that its task may declare.
DECLARABLE = frozenset({*COLUMNS, "max_attempts", "options", "target", "unique", "limits"})
_OF_WORKERS = {name: option for name, option in JOB_OPTIONS.items() if option.in_options}


class OptionSet(SimpleNamespace):
    """Checked options as attributes; an option that was not given has its default."""

    declared: ClassVar[Mapping[str, Option]] = JOB_OPTIONS

    def __init__(self, **values: Any) -> None:
        defaults = {name: option.default for name, option in self.declared.items()}
        super().__init__(**{**defaults, **values})

    def changed(self, given: Mapping[str, Any]) -> Self:
        """Return these options with some of them replaced; refuse what an option cannot be."""
        refuse_unknown(given, self.declared)
        read = {name: self.declared[name].read(name, value) for name, value in given.items()}
        new = type(self)(**{**vars(self), **read})
        new.check_ask_for(new.grace)
        return new

    def check_ask_for(self, grace: timedelta | None) -> None:
        """Refuse an ask_for that is longer than the grace."""
        if self.ask_for is not None and grace is not None and self.ask_for > grace:
            raise InputRefused(
                f"ask_for: {in_words(self.ask_for)} of asking do not fit into a grace of "
                f"{in_words(grace)}"
            )

    def column(self, name: str, settings: Any) -> Any:
        """Return the value for the column of a job."""
        setting, value = self.declared[name].setting, getattr(self, name)
        return setting(settings) if value is None and setting is not None else value

    def stored(self, stated: Collection[str] = ()) -> dict[str, JSON]:
        """Return what is kept in the options of a job; defaults only where they were stated."""
        return {
            name: as_json(name, value)
            for name, option in _OF_WORKERS.items()
            if (value := getattr(self, name)) != option.default or name in stated
        }

    def described(self) -> dict[str, JSON]:
        """Return every option of a task that differs from its default, as JSON."""
        columns = {name: getattr(self, name) for name in COLUMNS}
        return self.stored() | {
            name: as_json(name, value)
            for name, value in columns.items()
            if value != JOB_OPTIONS[name].default
        }


def restored(stored: Mapping[str, Any], settings: Any) -> dict[str, Any]:
    """Return the options of a job as its worker needs them, with settings for those left out.

    A producer may have stored anything that JSON has: InputRefused.
    """
    found: dict[str, Any] = {}
    for name, option in _OF_WORKERS.items():
        value = stored.get(name)
        if value is None:
            found[name] = option.default if option.setting is None else option.setting(settings)
            continue
        try:
            found[name] = (option.restore or option.read)(name, value)
        except (TenureError, TypeError, ValueError, OverflowError) as problem:
            raise InputRefused(f"the option {name} of this job cannot be read: {problem}") from None
    return found


def as_json(name: str, value: Any) -> JSON:
    match value:
        case timedelta():
            # The database makes a timestamp of a deadline.
            return value.total_seconds() if name == "deadline" else in_words(value)
        case Retry():
            return value.as_options()
        case Rung():
            return str(value)
        case tuple():
            return list(value)
        case _:
            return value


def refuse_unknown(names: Collection[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            [nearest] = difflib.get_close_matches(name, known, n=1, cutoff=0)
            raise InputRefused(f"{name}: there is no such option; the nearest is {nearest}")
