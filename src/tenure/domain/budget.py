"""How much a job and everything below it may spend."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType

from tenure.domain import bounds
from tenure.domain.values import shown
from tenure.errors import SettingInvalid

Amount = Decimal | int | float


@dataclass(frozen=True)
class Breach:
    """A limit that is overspent."""

    unit: str
    limit: Decimal
    spent: Decimal

    @property
    def message(self) -> str:
        return f"budget of {self.limit:f} {self.unit} exceeded: {self.spent:f} spent"


@dataclass(frozen=True)
class Budget:
    """A limit for each unit: tokens, money, seconds, whatever is counted."""

    limits: Mapping[str, Amount]

    def __post_init__(self) -> None:
        if (wrong := bounds.complaint("budget", self.limits)) is not None:
            raise SettingInvalid(f"budget: {wrong}")
        for unit, limit in self.limits.items():
            if bounds.complaint("unit", unit) is not None:
                raise SettingInvalid(
                    f"budget: {shown(unit)} cannot name what is counted; "
                    f"it takes {bounds.BOUNDS['unit'].words}"
                )
            if not _counts(limit):
                raise SettingInvalid(
                    f"budget: the limit of {unit} is {shown(limit)}; it takes a number of zero or "
                    f"more"
                )
            if _exact(limit) > Decimal(bounds.LARGEST_AMOUNT):
                raise SettingInvalid(
                    f"budget: the limit of {unit} is {shown(limit)}; {bounds.LARGEST_AMOUNT:g} is "
                    f"the most"
                )
        object.__setattr__(self, "limits", MappingProxyType(dict(self.limits)))

    def breach(self, spent: Mapping[str, Amount]) -> Breach | None:
        """The first limit by name that is overspent; to spend all of it is no breach."""
        for unit, limit in sorted(self.limits.items()):
            found = Breach(unit, _exact(limit), _exact(spent.get(unit, 0)))
            if found.spent > found.limit:
                return found
        return None


def _counts(amount: object) -> bool:
    if isinstance(amount, bool) or not isinstance(amount, (Decimal, int, float)):
        return False
    exact = _exact(amount)
    return exact.is_finite() and exact >= 0


def _exact(amount: Amount) -> Decimal:
    """As it is written: 0.1 is a tenth, as it is in JSON and in the database."""
    return Decimal(str(amount)) if isinstance(amount, float) else Decimal(amount)
