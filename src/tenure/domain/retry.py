"""The retries of a failed job: how many, and after which delays."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import timedelta
from inspect import iscoroutinefunction
from typing import Any, Self

from tenure.domain import bounds
from tenure.domain.duration import Duration, duration, in_words
from tenure.domain.values import refusals_about, shown
from tenure.errors import InputRefused

_MAX_SENTENCE = 500

RetryFunction = Callable[[Any, Any], Any]


@dataclass(frozen=True, init=False)
class Retry:
    """Exponential backoff: base, base x factor, base x factor x factor, ... but never above cap."""

    max: int  # retries after the first attempt
    base: timedelta  # before the first retry
    factor: float
    cap: timedelta
    jitter: float  # the share of a delay that luck may take off
    never: tuple[str, ...]  # names of error types that are not worth another attempt
    retry_after: bool  # wait at least as long as the error asks for
    function: RetryFunction | str | None  # decides instead; a string only names it

    def __init__(
        self,
        max: int = 3,  # noqa: A002 - as in Retry(max=3)
        base: Duration = "1s",
        factor: float = 2.0,
        cap: Duration = "10m",
        jitter: float = 0.1,
        never: Collection[str | type[BaseException]] = (),
        retry_after: bool = False,
        function: RetryFunction | str | None = None,
    ) -> None:
        _bound("max", max)
        _bound("factor", factor)
        _bound("jitter", jitter)
        _require(
            isinstance(never, Collection) and not isinstance(never, str | bytes | Mapping),
            f"never is {shown(never)}; it takes a list of error types or of their names",
        )
        names = tuple(_error_name(kind) for kind in never)
        _bound("never", names)
        _require(
            isinstance(retry_after, bool),
            f"retry_after is {shown(retry_after)}; it takes True or False",
        )
        _require(
            function is None or isinstance(function, str) or is_plain_function(function),
            f"function is {shown(function)}; it takes a plain function of the error and the "
            f"context, not a coroutine function",
        )
        for name, value in {
            "max": max,
            "base": _duration("base", base),
            "factor": float(factor),
            "cap": _duration("cap", cap),
            "jitter": float(jitter),
            "never": names,
            "retry_after": retry_after,
            "function": function,
        }.items():
            object.__setattr__(self, name, value)
        _require(
            self.base <= self.cap,
            f"a base of {in_words(self.base)} is above the cap of {in_words(self.cap)}",
        )

    @property
    def attempts(self) -> int:
        """Return the number of all attempts: the first, and the retries."""
        return self.max + 1

    def gives_up(self, kinds: Iterable[str]) -> bool:
        """Tell whether one of these types, "ValueError" or "json.JSONDecodeError", ends the job.

        They are the type of an error and its base classes.
        """
        return any(kind in self.never or kind.rpartition(".")[2] in self.never for kind in kinds)

    def delay_after(self, attempt: int, luck: float) -> timedelta:
        """Return the delay after this attempt (from 1); luck from 0 to 1 shortens it."""
        try:
            grown = self.base * self.factor ** (attempt - 1)
        except OverflowError:
            grown = self.cap if self.base else self.base
        return min(grown, self.cap) * (1 - self.jitter * luck)

    @property
    def decided_by(self) -> str | None:
        """Return a sentence about the function that decides, for people; None: there is none."""
        if self.function is None or isinstance(self.function, str):
            return self.function
        name = getattr(self.function, "__qualname__", type(self.function).__qualname__)
        module = getattr(self.function, "__module__", None) or "its module"
        return f"{name} in {module} decides"[:_MAX_SENTENCE]

    def as_options(self) -> dict[str, Any]:
        """Return plain JSON that `from_options` reads back."""
        added: dict[str, Any] = {"retry_after": True} if self.retry_after else {}
        if self.function is not None:
            added["function"] = self.decided_by
        return added | {
            "max": self.max,
            "base": in_words(self.base),
            "factor": self.factor,
            "cap": in_words(self.cap),
            "jitter": self.jitter,
            "never": list(self.never),
        }

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        """Read JSON; a field that is left out has its default."""
        known = [field.name for field in fields(cls)]
        for name in options:
            _require(name in known, f"{shown(name)} is unknown; it knows {', '.join(known)}")
        return cls(**options)


def is_plain_function(value: object) -> bool:
    """Tell whether a value can be called and is no coroutine function."""
    call = getattr(value, "__call__", None)  # noqa: B004 - of an object that can be called
    is_class = isinstance(value, type)
    return callable(value) and not is_class and not any(map(iscoroutinefunction, (value, call)))


def _error_name(kind: object) -> str:
    if isinstance(kind, type) and issubclass(kind, BaseException):
        module = kind.__module__
        return kind.__qualname__ if module == "builtins" else f"{module}.{kind.__qualname__}"
    _require(
        isinstance(kind, str) and bool(kind),
        f"never holds {shown(kind)}; it takes a list of error types or of their names",
    )
    return str(kind)


def _require(holds: bool, why: str) -> None:
    if not holds:
        raise InputRefused(f"retry: {why}")


def _bound(name: str, value: Any) -> None:
    field = f"retry_{name}"
    _require(
        bounds.validation_error(field, value) is None,
        f"{name} is {shown(value)}; it takes {bounds.BOUNDS[field].words}",
    )


def _duration(name: str, value: Duration) -> timedelta:
    with refusals_about(f"retry: {name}"):
        read = duration(value)
    _bound(name, read)
    return read
