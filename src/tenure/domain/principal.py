"""Who asks, and what that allows: a role within one tenant."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from types import MappingProxyType

from tenure.domain.tenant import DEFAULT, Tenant

TOKEN_LIFETIME = timedelta(days=90)  # of a token, unless it is said otherwise


class Role(StrEnum):
    """Each may do all that the one before it may."""

    VIEWER = "viewer"  # reads
    OPERATOR = "operator"  # also enqueues, and controls jobs of its own
    ADMIN = "admin"  # controls all of a tenant

    def includes(self, other: "Role") -> bool:
        return _ORDER.index(self) >= _ORDER.index(other)


_ORDER = tuple(Role)


@dataclass(frozen=True)
class Principal:
    """Somebody who was recognized. The tenant is part of it, and comes from nowhere else."""

    name: str
    role: Role
    tenant: Tenant = DEFAULT
    via: str = "python"  # through what it asks: python, cli, rest, page

    @property
    def controls_tenants(self) -> bool:
        """Whether it is an admin of the default tenant, in whose hands the others are."""
        return self.role is Role.ADMIN and self.tenant == DEFAULT


# What a verb needs at least; what is not listed is looking, and open to all. An operator's verbs
# reach only jobs of its own: the database knows whose they are, and has the last word.
NEEDS: Mapping[str, Role] = MappingProxyType(
    {
        **dict.fromkeys(
            [
                *("enqueue", "enqueue_many", "queue"),
                *("stop", "resume", "clear", "rerun", "rollback", "inspect", "inspection"),
                "end_runner",
                *("bulk_stop", "bulk_resume", "bulk_rerun", "advance_bulk"),
                *("set_policy", "drop_policy"),
            ],
            Role.OPERATOR,
        ),
        **dict.fromkeys(
            [
                "pause",
                "unpause",
                "create_pool",
                "change_slots",
                "release_slot",
                "drain",
                "recover",
                "admit",
                "enforce_policies",
                "discards",
                "discarded",
                "set_strategy",
                "drop_strategy",
                "create_token",
                "revoke_token",
                "tokens",
                "step",
                "close_record",
                "prune",
                "prune_records",
                "announce_tasks",
                "roll_up",
            ],
            Role.ADMIN,
        ),
    }
)

SERVED = frozenset({"rest", "page"})  # through what strangers ask: each call is limited in time

# What all tenants share is in the hands of the default tenant's admins.
SHARED = frozenset({"drain", "tenants", "create_tenant", "drop_tenant"})
