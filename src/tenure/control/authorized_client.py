"""A client that acts for a principal: in their tenant, as far as their role allows."""

from typing import TypeVar

from tenure.control.client import Client
from tenure.control.operation import Operation, aperform, perform, performed, twin
from tenure.domain.principal import NEEDS, SERVED, SHARED, Principal, Role
from tenure.domain.tenant import Tenant
from tenure.errors import NotAllowed
from tenure.store.call import Call
from tenure.store.calls import control_calls

T = TypeVar("T")


class AuthorizedClient:
    """A client that acts for a principal: each call carries their name, and is checked.

    The database decides which jobs are theirs. Each refusal is in the audit log.
    """

    def __init__(self, client: Client, principal: Principal) -> None:
        self.client = client
        self.principal = principal

    @performed
    def require(self, verb: str) -> Operation[None]:
        """Refuse a verb that the role does not allow, even if it is no call to the store."""
        return self._required(verb)

    arequire = twin(require)

    @performed
    def send(self, call: Call[T]) -> Operation[T]:
        """Carry out a call if the role allows it."""
        yield from self._required(call.verb)
        answer: T = yield self._asked(call)
        return answer

    asend = twin(send)

    def perform(self, operation: Operation[T]) -> T:
        """Perform an operation, such as ``stop_many``, if the role allows its calls."""
        return perform(operation, self.send)

    async def aperform(self, operation: Operation[T]) -> T:
        """Async version of ``perform``."""
        return await aperform(operation, self.asend)

    def create_tenant(self, tenant: Tenant) -> bool:
        """Create a tenant; return false if it exists already."""
        self.require("create_tenant")
        return self.client.create_tenant(tenant, by=self.principal.name, via=self.principal.via)

    def drop_tenant(self, tenant: Tenant, *, force: bool = False) -> None:
        """Delete a tenant with all its jobs, if the role allows it."""
        self.require("drop_tenant")
        who = self.principal
        self.client.drop_tenant(tenant, force=force, by=who.name, via=who.via)

    def _required(self, verb: str) -> Operation[None]:
        if (why := self._forbids(verb)) is not None:
            yield control_calls.refuse(verb, why).asked_by(self.principal)
            raise NotAllowed(why)

    def _perform(self, operation: Operation[T]) -> T:
        return self.client.perform(operation, self.principal.tenant)

    async def _aperform(self, operation: Operation[T]) -> T:
        return await self.client.aperform(operation, self.principal.tenant)

    def _asked(self, call: Call[T]) -> Call[T]:
        """Return the call with its principal; if it comes from outside, with a time limit."""
        call = call.asked_by(self.principal)
        if self.principal.via not in SERVED or call.timeout is not None:
            return call
        settings = self.client.settings
        is_read = call.verb not in NEEDS
        return call.within(settings.read_timeout if is_read else settings.write_timeout)

    def _forbids(self, verb: str) -> str | None:
        """Return why the role does not allow a verb; None if it does."""
        who, role = self.principal.name, self.principal.role
        if verb in SHARED and not self.principal.controls_tenants:
            return f"{who} may not {in_words(verb)}; an admin of the default tenant may"
        needed = NEEDS.get(verb, Role.VIEWER)
        if not role.includes(needed):
            return f"{who} is {_article(role)} and may not {in_words(verb)}; {_article(needed)} may"
        return None


def in_words(verb: str) -> str:
    """Return the words for a verb, to follow "may not"."""
    lists = verb in ("tokens", "tenants", "discards", "webhooks", "deliveries")
    return f"list {verb}" if lists else verb.replace("_", " ")


def _article(role: Role) -> str:
    return f"an {role}" if role is not Role.VIEWER else f"a {role}"
