"""The budget of a job: how much it and all jobs below it may spend."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType

from tenure.domain import bounds
from tenure.domain.values import finite_number, name_text, shown
from tenure.errors import InputRefused

_MAX_UNIT = 200  # characters

Amount = Decimal | int | float


@dataclass(frozen=True)
class Budget:
    """A limit for each unit: tokens, money, seconds or anything else that is counted."""

    limits: Mapping[str, Amount]

    def __post_init__(self) -> None:
        if (wrong := bounds.validation_error("budget", self.limits)) is not None:
            raise InputRefused(f"budget: {wrong}")
        for unit, limit in self.limits.items():
            if bounds.validation_error("unit", unit) is not None:
                raise InputRefused(
                    f"budget: {shown(unit)} cannot name what is counted; "
                    f"it takes {bounds.BOUNDS['unit'].words}"
                )
            if not _counts(limit):
                raise InputRefused(
                    f"budget: the limit of {unit} is {shown(limit)}; it takes a number of zero or "
                    f"more"
                )
            if _exact(limit) > Decimal(bounds.LARGEST_AMOUNT):
                raise InputRefused(
                    f"budget: the limit of {unit} is {shown(limit)}; it takes at most "
                    f"{bounds.LARGEST_AMOUNT:g}"
                )
        object.__setattr__(self, "limits", MappingProxyType(dict(self.limits)))


def checked_amounts(amounts: Mapping[str, object], verb: str) -> dict[str, int | float]:
    """Return amounts by unit as numbers; ``verb`` names what is done with them in a refusal."""
    checked: dict[str, int | float] = {}
    for unit, amount in amounts.items():
        name = name_text(unit, "a unit", _MAX_UNIT)
        checked[name] = finite_number(amount, f"{name} cannot be {verb}: an amount")
        if not 0 <= checked[name] <= bounds.LARGEST_AMOUNT:
            raise InputRefused(
                f"{shown(amount)} {name} cannot be {verb}; an amount is a number from 0 to "
                f"{bounds.LARGEST_AMOUNT:g}"
            )
    return checked


def _counts(amount: object) -> bool:
    if isinstance(amount, bool) or not isinstance(amount, (Decimal, int, float)):
        return False
    exact = _exact(amount)
    return exact.is_finite() and exact >= 0


def _exact(amount: Amount) -> Decimal:
    """Return the number as it is written: 0.1 is a tenth, as in JSON and in the database."""
    return Decimal(str(amount)) if isinstance(amount, float) else Decimal(amount)
