"""The rates of a limit, as text: ``60/1m``, ``tokens=90000/1m`` or ``60/1m:10`` with a burst."""

import re
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, Protocol

from tenure.domain.duration import in_words
from tenure.domain.values import shown
from tenure.errors import InputRefused

CALLS = "calls"  # the unit of which a job, or a block of its code, takes one
_RATE = re.compile(
    r"(?:(?P<unit>[^=]+)=)?(?P<amount>[0-9]+(?:\.[0-9]+)?)/(?P<per>[^:]+)(?::(?P<burst>[0-9]+(?:\.[0-9]+)?))?"
)


class Rated(Protocol):
    """A limit, as far as its rates are shown."""

    @property
    def rates(self) -> Mapping[str, Any]: ...
    @property
    def at_once(self) -> int | None: ...


def read_rates(texts: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return rates by unit; those without a unit count calls."""
    rates: dict[str, dict[str, Any]] = {}
    for text in texts:
        parts = _RATE.fullmatch(text.strip())
        if parts is None:
            raise InputRefused(
                f"{shown(text)} is not a rate; write 60/1m, tokens=90000/1m, or 60/1m:10 with a "
                f"burst of 10"
            )
        rate: dict[str, Any] = {"amount": float(parts["amount"]), "per": parts["per"].strip()}
        if parts["burst"] is not None:
            rate["burst"] = float(parts["burst"])
        unit = parts["unit"] or CALLS
        if unit in rates:
            raise InputRefused(f"{unit} has two rates; give one of them")
        rates[unit] = rate
    return rates


def shown_rates(limit: Rated) -> str:
    """Return what a limit allows: ``60 calls per 1m, 8 at once``."""
    allowed = [
        f"{rate.amount:g} {unit.removesuffix('s') if rate.amount == 1 else unit} "
        f"per {in_words(timedelta(seconds=rate.per))}"
        + (f" (burst {rate.burst:g})" if rate.burst != rate.amount else "")
        for unit, rate in limit.rates.items()
    ]
    return ", ".join([*allowed, *([] if limit.at_once is None else [f"{limit.at_once} at once"])])
