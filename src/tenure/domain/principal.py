"""Principals and roles: who calls, in which tenant, with which rights."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from types import MappingProxyType

from tenure.domain.tenant import DEFAULT, Tenant

TOKEN_LIFETIME = timedelta(days=90)  # the default of a token


class Role(StrEnum):
    """A role includes the rights of those before it."""

    VIEWER = "viewer"  # reads
    OPERATOR = "operator"  # also enqueues, and controls jobs of its own
    ADMIN = "admin"  # controls all of a tenant

    def includes(self, other: "Role") -> bool:
        """Tell whether this role may do all that the other may."""
        return _ORDER.index(self) >= _ORDER.index(other)


_ORDER = tuple(Role)


@dataclass(frozen=True)
class Principal:
    """A recognized caller. Its tenant is part of it, and comes from nowhere else."""

    name: str
    role: Role
    tenant: Tenant = DEFAULT
    via: str = "python"  # the interface it uses: python, cli, rest, dashboard, mcp, django

    @property
    def controls_tenants(self) -> bool:
        """Tell whether it is an admin of the default tenant, who controls the others."""
        return self.role is Role.ADMIN and self.tenant == DEFAULT


# The role that a verb needs; a verb that is not listed reads, and is open to all. The verbs of an
# operator reach only its own jobs, which the database checks.
NEEDS: Mapping[str, Role] = MappingProxyType(
    {
        "answer": Role.VIEWER,  # as far as the question names a role
        **dict.fromkeys(
            [
                *("enqueue", "enqueue_many", "queue"),
                *("stop", "resume", "clear", "rerun", "rollback", "inspect", "inspection"),
                *("end_runner", "publish"),
                *("bulk_stop", "bulk_resume", "bulk_rerun", "advance_bulk"),
                *("set_policy", "drop_policy"),
            ],
            Role.OPERATOR,
        ),
        **dict.fromkeys(
            [
                "pause_dispatch",
                "resume_dispatch",
                "create_pool",
                "change_slots",
                "release_slot",
                *("set_limit", "drop_limit", "close_limit", "open_limit"),
                *("set_webhook", "rotate_webhook", "drop_webhook", "test_webhook", "redeliver"),
                *("webhooks", "deliveries"),
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

# Interfaces of remote callers: each call has a time limit.
SERVED = frozenset({"rest", "dashboard", "mcp"})

# Verbs on what all tenants share, for admins of the default tenant.
SHARED = frozenset({"drain", "tenants", "create_tenant", "drop_tenant"})
