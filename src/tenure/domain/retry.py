"""The retries of a failed job: how many, and after which delays."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any, Self

from tenure.domain import bounds
from tenure.domain.duration import Duration, duration, in_words
from tenure.domain.values import shown
from tenure.errors import InputRefused


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
        base: Duration = "1s",
        factor: float = 2.0,
        cap: Duration = "10m",
        jitter: float = 0.1,
        gives_up_on: Collection[str] = (),
    ) -> None:
        _bound("max", max)
        _bound("factor", factor)
        _bound("jitter", jitter)
        _require(
            isinstance(gives_up_on, Collection)
            and not isinstance(gives_up_on, str)
            and all(isinstance(name, str) and name for name in gives_up_on),
            f"gives_up_on is {shown(gives_up_on)}; it takes a list of names of error types",
        )
        _bound("gives_up_on", gives_up_on)
        for name, value in {
            "max": max,
            "base": _duration("base", base),
            "factor": float(factor),
            "cap": _duration("cap", cap),
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
        """Return the number of all attempts: the first, and the retries."""
        return self.max + 1

    def gives_up(self, error_type: str) -> bool:
        """Tell whether an error type, "ValueError" or "json.JSONDecodeError", ends the job."""
        return error_type in self.gives_up_on or error_type.rpartition(".")[2] in self.gives_up_on

    def delay_after(self, attempt: int, luck: float) -> timedelta:
        """Return the delay after this attempt (from 1); luck from 0 to 1 shortens it."""
        try:
            grown = self.base * self.factor ** (attempt - 1)
        except OverflowError:
            grown = self.cap if self.base else self.base
        return min(grown, self.cap) * (1 - self.jitter * luck)

    def as_options(self) -> dict[str, Any]:
        """Return plain JSON that `from_options` reads back."""
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
        """Read JSON; a field that is left out has its default."""
        known = [field.name for field in fields(cls)]
        for name in options:
            _require(name in known, f"{shown(name)} is unknown; it knows {', '.join(known)}")
        return cls(**options)


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
    try:
        read = duration(value)
    except InputRefused as refusal:
        raise InputRefused(f"retry: {name}: {refusal}") from None
    _bound(name, read)
    return read
