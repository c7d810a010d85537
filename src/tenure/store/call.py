"""One call of a verb: what is sent and how the answer is read, apart from who sends it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Generic, TypeVar

from tenure.domain.principal import Principal
from tenure.domain.tenant import DEFAULT, Tenant

T = TypeVar("T")


@dataclass(frozen=True)
class Argument:
    value: Any
    type: str  # the PostgreSQL type, so that every driver sends it alike

    @property
    def full_type(self) -> str:
        """With its schema: nothing depends on the caller's search_path."""
        return self.type if "." in self.type else f"pg_catalog.{self.type}"


@dataclass(frozen=True)
class Call(Generic[T]):
    """A verb with its named arguments. Every verb answers with one JSON value."""

    verb: str
    arguments: Mapping[str, Argument]
    read: Callable[[bytes | str], T]
    safe: bool = False  # may be sent again when nobody knows whether it was carried out
    control: bool = False  # lives in the control schema, whoever the tenant is
    tenant: Tenant = DEFAULT
    timeout: timedelta | None = None  # after which the database gives it up; none: its own, if any

    def of(self, tenant: Tenant) -> "Call[T]":
        return replace(self, tenant=tenant)

    def within(self, timeout: timedelta | None) -> "Call[T]":
        return replace(self, timeout=timeout)

    def asked_by(self, principal: Principal) -> "Call[T]":
        """This call as a principal asks it: in its tenant, with its name and role on it.

        Of what all tenants share it is shown what concerns its own, unless it controls them all.
        """
        if self.control and "of_tenant" in self.arguments and not principal.controls_tenants:
            own = {"of_tenant": Argument(principal.tenant.name, "text")}
            return replace(self, arguments={**self.arguments, **own}, tenant=principal.tenant)
        if "by" not in self.arguments:
            return self.of(principal.tenant)
        who = {
            "by": Argument(principal.name, "text"),
            "via": Argument(principal.via, "text"),
            "role": Argument(str(principal.role), "text"),
        }
        return replace(self, arguments={**self.arguments, **who}, tenant=principal.tenant)

    def sql(self, placeholders: Iterable[str]) -> str:
        """The statement, with a placeholder of the driver's own kind for each argument."""
        schema = "tenure" if self.control else self.tenant.schema
        named = ", ".join(
            f'"{name}" => CAST({placeholder} AS {argument.full_type})'
            for placeholder, (name, argument) in zip(
                placeholders, self.arguments.items(), strict=False
            )
        )
        return f'SELECT CAST("{schema}"."{self.verb}"({named}) AS pg_catalog.text)'

    @property
    def values(self) -> tuple[Any, ...]:
        return tuple(argument.value for argument in self.arguments.values())
