"""``tenure tenant``: whose jobs there are."""

from typing import Annotated

import typer

from tenure.cli.connecting import Connection, connected, connected_or_new
from tenure.cli.grouping import command, group
from tenure.cli.naming import Why, Yes
from tenure.cli.pausing import pause_it, unpause_it
from tenure.cli.printing import ago
from tenure.control.client import as_tenant
from tenure.store.calls import queries

commands = group(
    "tenant",
    "Make tenants, look at them, hold them up, drop them.",
    "tenure tenant create acme",
    "tenure tenant list",
)

Name = Annotated[str, typer.Argument(metavar="TENANT", help="The name of a tenant.")]


@command(commands, "create", "tenure tenant create acme")
@connected_or_new
def create(to: Connection, name: Name) -> None:
    """Make a tenant: a schema of its own, where nobody else sees its jobs."""
    created = to.shared.create_tenant(as_tenant(name))
    if to.show.json:
        to.show.document({"name": name, "created": created})
        return
    to.show.say(f"Tenant {name} is there{'' if created else ' already'}.")


@command(commands, "list", "tenure tenant list", "tenure tenant list --json")
@connected
def list_tenants(to: Connection) -> None:
    """List tenants."""
    tenants = to.shared.send(queries.tenants())
    if to.show.json:
        to.show.document(tenants)
        return
    to.show.table(
        ("tenant", "made", ""),
        (
            (it.name, ago(it.created_at), to.show.status("paused") if it.paused else None)
            for it in tenants
        ),
        "no tenants",
    )


@command(commands, "pause", 'tenure tenant pause acme --reason "unpaid"')
@connected
def pause(to: Connection, name: Name, reason: Why = None) -> None:
    """Start nothing of a tenant until it is resumed; what runs goes on."""
    pause_it(to, to.of_tenant(name), "tenant", name, reason)


@command(commands, "resume", "tenure tenant resume acme")
@connected
def resume(to: Connection, name: Name, reason: Why = None) -> None:
    """Let a paused tenant go on."""
    unpause_it(to, to.of_tenant(name), "tenant", name, reason)


@command(commands, "drop", "tenure tenant drop acme --yes")
@connected
def drop(
    to: Connection,
    name: Name,
    force: Annotated[
        bool, typer.Option("--force", help="Although workers hold jobs of it.")
    ] = False,
    yes: Yes = False,
) -> None:
    """Delete a tenant with all its jobs and all that is on record of them."""
    to.shared.require("drop_tenant")
    to.show.confirm(f"This deletes all jobs of {name}, with all that is on record of them", yes=yes)
    to.shared.drop_tenant(as_tenant(name), force=force)
    if to.show.json:
        to.show.document({"dropped": name})
        return
    to.show.say(f"Tenant {name} is gone.")
