"""A call of a verb: the statement, its arguments and the reader of its answer."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Generic, TypeVar

from tenure.domain.principal import Principal
from tenure.domain.tenant import DEFAULT, Tenant

T = TypeVar("T")


@dataclass(frozen=True)
class Call(Generic[T]):
    """A verb with its named arguments. Every verb answers with one JSON value."""

    verb: str
    arguments: Mapping[str, Any]
    types: Mapping[str, str]  # of the arguments, with their schema: independent of the search_path
    read: Callable[[bytes | str], T]
    safe: bool = False  # may be sent again when its outcome is unknown
    control: bool = False  # the verb is in the control schema, not in that of the tenant
    tenant: Tenant = DEFAULT
    timeout: timedelta | None = None  # in the database; None leaves that of the database role

    def of(self, tenant: Tenant) -> "Call[T]":
        """Return this call for a tenant."""
        return self if tenant == self.tenant else replace(self, tenant=tenant)

    def within(self, timeout: timedelta | None) -> "Call[T]":
        """Return this call with a time limit."""
        return replace(self, timeout=timeout)

    def asked_by(self, principal: Principal) -> "Call[T]":
        """Return this call in the tenant of a principal, with the name and role of the principal.

        Of what all tenants share, a principal sees its own tenant, unless it controls them all.
        """
        if self.control and "of_tenant" in self.arguments and not principal.controls_tenants:
            arguments = {**self.arguments, "of_tenant": principal.tenant.name}
            return replace(self, arguments=arguments, tenant=principal.tenant)
        if "by" not in self.arguments:
            return self.of(principal.tenant)
        who = {"by": principal.name, "via": principal.via, "role": str(principal.role)}
        return replace(
            self,
            arguments={**self.arguments, **who},
            types={**self.types, "role": "pg_catalog.text"},
            tenant=principal.tenant,
        )

    def sql(self, placeholders: Iterable[str]) -> str:
        """Return the statement, with a placeholder of the driver for each argument."""
        schema = "tenure" if self.control else self.tenant.schema
        named = ", ".join(
            f'"{name}" => CAST({placeholder} AS {self.types[name]})'
            for placeholder, name in zip(placeholders, self.arguments, strict=False)
        )
        return f'SELECT CAST("{schema}"."{self.verb}"({named}) AS pg_catalog.text)'

    @property
    def values(self) -> tuple[Any, ...]:
        """Return the values of its arguments, in order."""
        return tuple(self.arguments.values())
