"""``tenure tenant``: separate sets of jobs in one database."""

from typing import Annotated

import typer

from tenure.cli.connection import Connection, connected, connected_or_new
from tenure.cli.options import Reason, Yes, flag
from tenure.cli.output import ago
from tenure.cli.pause import pause_subject, resume_subject
from tenure.cli.program import command, group
from tenure.control.client import as_tenant
from tenure.store.calls import queries

commands = group(
    "tenant",
    "tenure tenant create acme",
    "tenure tenant list",
)

Name = Annotated[str, typer.Argument(metavar="TENANT", help="Name of a tenant.")]


@command(commands, "create", "tenure tenant create acme")
@connected_or_new
def create(to: Connection, name: Name) -> None:
    """Create a tenant: a schema of its own, whose jobs no other tenant sees."""
    created = to.shared.create_tenant(as_tenant(name))
    state = "is created" if created else "already exists"
    to.out.answer({"name": name, "created": created}, f"Tenant {name} {state}.")


@command(commands, "list", "tenure tenant list", "tenure tenant list --json")
@connected
def list_tenants(to: Connection) -> None:
    """List tenants."""
    to.out.answer_table(
        to.shared.send(queries.tenants()),
        ("tenant", "created", ""),
        lambda tenant: (
            tenant.name,
            ago(tenant.created_at),
            to.out.status("paused") if tenant.paused else None,
        ),
        "no tenants",
    )


@command(commands, "pause", 'tenure tenant pause acme --reason "unpaid"')
@connected
def pause(to: Connection, name: Name, reason: Reason = None) -> None:
    """Start no more jobs of a tenant until it is resumed; running jobs continue."""
    pause_subject(to, to.of_tenant(name), "tenant", name, reason)


@command(commands, "resume", "tenure tenant resume acme")
@connected
def resume(to: Connection, name: Name, reason: Reason = None) -> None:
    """Start jobs of a paused tenant again."""
    resume_subject(to, to.of_tenant(name), "tenant", name, reason)


@command(commands, "drop", "tenure tenant drop acme --yes")
@connected
def drop(
    to: Connection,
    name: Name,
    force: bool = flag("--force", "Drop it even if workers hold jobs of it."),
    yes: Yes = False,
) -> None:
    """Delete a tenant with all its jobs and records."""
    to.shared.require("drop_tenant")
    to.out.confirm(f"This would delete all jobs and records of {name}", yes=yes)
    to.shared.drop_tenant(as_tenant(name), force=force)
    to.out.answer({"dropped": name}, f"Tenant {name} is dropped.")
