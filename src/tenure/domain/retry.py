"""How often a failed job is tried again, and after how long."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any, Self

from tenure.domain.duration import duration, in_words
from tenure.errors import InputRefused, SettingInvalid

MOST_RETRIES = 32_766  # the attempts are counted in a smallint


@dataclass(frozen=True, init=False)
class Retry:
    """Exponential backoff: base, base x factor, base x factor x factor, ... but never above cap."""

    max: int  # retries after the first attempt
    base: timedelta  # before the first retry
    factor: float
    cap: timedelta
    jitter: float  # the share of a delay that luck may take off
    gives_up_on: tuple[str, ...]  # names of error types that are not worth another attempt

    def __init__(
        self,
        max: int = 3,  # noqa: A002 - as in Retry(max=3)
        base: timedelta | str | int | float = "1s",
        factor: float = 2.0,
        cap: timedelta | str | int | float = "10m",
        jitter: float = 0.1,
        gives_up_on: Collection[str] = (),
    ) -> None:
        _require(
            isinstance(max, int) and _within(max, 0, MOST_RETRIES),
            f"max is {max!r}; it takes a whole number from 0 to {MOST_RETRIES}",
        )
        _require(
            _within(factor, 1, 1000), f"factor is {factor!r}; it takes a number from 1 to 1000"
        )
        _require(_within(jitter, 0, 1), f"jitter is {jitter!r}; it takes a number from 0 to 1")
        _require(
            isinstance(gives_up_on, Collection)
            and not isinstance(gives_up_on, str)
            and all(isinstance(name, str) and name for name in gives_up_on),
            f"gives_up_on is {gives_up_on!r}; it takes a list of names of error types",
        )
        for name, value in {
            "max": max,
            "base": _length("base", base),
            "factor": float(factor),
            "cap": _length("cap", cap),
            "jitter": float(jitter),
            "gives_up_on": tuple(gives_up_on),
        }.items():
            object.__setattr__(self, name, value)
        _require(
            self.base <= self.cap,
            f"a base of {in_words(self.base)} is above the cap of {in_words(self.cap)}",
        )

    @property
    def attempts(self) -> int:
        """How many attempts there are in all: the first, and the retries."""
        return self.max + 1

    def gives_up(self, error_type: str) -> bool:
        """Whether an error of this type, "ValueError" or "json.JSONDecodeError", ends the job."""
        return error_type in self.gives_up_on or error_type.rpartition(".")[2] in self.gives_up_on

    def delay_after(self, attempt: int, luck: float) -> timedelta:
        """How long to wait after this attempt, the first being 1; luck from 0 to 1 shortens it."""
        try:
            grown = self.base * self.factor ** (attempt - 1)
        except OverflowError:
            grown = self.cap if self.base else self.base
        return min(grown, self.cap) * (1 - self.jitter * luck)

    def as_options(self) -> dict[str, Any]:
        """Plain JSON that `from_options` reads back."""
        return {
            "max": self.max,
            "base": in_words(self.base),
            "factor": self.factor,
            "cap": in_words(self.cap),
            "jitter": self.jitter,
            "gives_up_on": list(self.gives_up_on),
        }

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        """What is left out has its default."""
        known = [field.name for field in fields(cls)]
        for name in options:
            _require(name in known, f"{name!r} is unknown; it knows {', '.join(known)}")
        return cls(**options)


def _require(holds: bool, why: str) -> None:
    if not holds:
        raise SettingInvalid(f"retry: {why}")


def _within(value: object, low: int, high: int) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return low <= value <= high


def _length(name: str, value: timedelta | str | int | float) -> timedelta:
    try:
        return duration(value)
    except InputRefused as refusal:
        raise SettingInvalid(f"retry: {name}: {refusal}") from None
