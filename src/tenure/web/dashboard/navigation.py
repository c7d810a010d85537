"""The pages of the dashboard, in the groups of its sidebar."""

from collections.abc import Iterator
from dataclasses import dataclass

from tenure.domain.principal import Principal, Role
from tenure.domain.tenant import DEFAULT


@dataclass(frozen=True)
class Page:
    path: str
    name: str
    role: Role = Role.VIEWER  # needed to open it
    is_for_default_tenant: bool = False

    def is_shown_to(self, principal: Principal) -> bool:
        return principal.role.includes(self.role) and (
            not self.is_for_default_tenant or principal.tenant == DEFAULT
        )


GROUPS: tuple[tuple[str, tuple[Page, ...]], ...] = (
    (
        "Work",
        (
            Page("/", "Overview"),
            Page("/jobs", "Jobs"),
            Page("/tasks", "Tasks"),
            Page("/queues", "Queues"),
            Page("/targets", "Targets"),
            Page("/schedules", "Schedules"),
            Page("/questions", "Questions"),
        ),
    ),
    (
        "Stops",
        (
            Page("/stops", "In progress"),
            Page("/cancellations", "Records"),
            Page("/policies", "Policies"),
            Page("/strategies", "Strategies"),
            Page("/bulks", "Bulk operations"),
        ),
    ),
    (
        "Fleet",
        (
            Page("/fleet", "Live fleet"),
            Page("/workers", "Workers"),
            Page("/pools", "Pools"),
            Page("/limits", "Limits"),
            Page("/leaks", "Leaks"),
        ),
    ),
    (
        "Admin",
        (
            Page("/tenants", "Tenants", Role.ADMIN, is_for_default_tenant=True),
            Page("/tokens", "Tokens", Role.ADMIN),
            Page("/webhooks", "Webhooks", Role.ADMIN),
            Page("/audit", "Audit"),
            Page("/system", "System"),
        ),
    ),
)
# What the search also opens, by the words of a user: the page, and the place on it.
ACTIONS: tuple[tuple[Page, str], ...] = (
    (Page("/tasks", "Enqueue a job", Role.OPERATOR), ""),
    (Page("/bulk", "Stop many jobs", Role.OPERATOR), ""),
    (Page("/queues", "Pause a queue", Role.ADMIN), "new"),
    (Page("/policies", "New policy", Role.ADMIN), "new"),
    (Page("/strategies", "New strategy", Role.ADMIN), "new"),
    (Page("/pools", "New pool", Role.ADMIN), "new"),
    (Page("/limits", "New limit", Role.ADMIN), "new"),
    (Page("/tokens", "New token", Role.ADMIN), "new"),
    (Page("/webhooks", "New webhook", Role.ADMIN), "new"),
    (Page("/tenants", "New tenant", Role.ADMIN, is_for_default_tenant=True), "new"),
)


def groups_for(principal: Principal) -> Iterator[tuple[str, list[Page]]]:
    """Yield the groups with the pages that a user may open."""
    for name, pages in GROUPS:
        yield name, [page for page in pages if page.is_shown_to(principal)]


def places_for(principal: Principal) -> dict[str, tuple[str, str]]:
    """Return the paths of the pages and actions of a user, and the place on the page, by name."""
    pages = [(page, "") for _, shown in groups_for(principal) for page in shown]
    actions = [(page, place) for page, place in ACTIONS if page.is_shown_to(principal)]
    return {page.name: (page.path, place) for page, place in (*pages, *actions)}
