"""``tenure tenant``: separate sets of jobs in one database."""

from typing import Annotated

import typer

from tenure.cli.connection import Connection, action
from tenure.cli.options import Reason, Yes, flag
from tenure.cli.output import ago
from tenure.cli.pause import pause_subject, resume_subject
from tenure.cli.program import group
from tenure.control.client import as_tenant
from tenure.store.calls import queries

commands = group("tenant")

Name = Annotated[str, typer.Argument(metavar="TENANT", help="Name of a tenant.")]


@action(commands, "create", "tenure tenant create acme", may_create=True)
def create(to: Connection, name: Name) -> None:
    """Create a tenant: a schema of its own, whose jobs no other tenant sees."""
    created = to.shared.create_tenant(as_tenant(name))
    state = "is created" if created else "already exists"
    to.out.answer({"name": name, "created": created}, f"Tenant {name} {state}.")


@action(commands, "list", "tenure tenant list", "tenure tenant list --json")
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


@action(commands, "pause", 'tenure tenant pause acme --reason "unpaid"')
def pause(to: Connection, name: Name, reason: Reason = None) -> None:
    """Start no more jobs of a tenant until it is resumed; running jobs continue."""
    pause_subject(to, to.of_tenant(name), "tenant", name, reason)


@action(commands, "resume", "tenure tenant resume acme")
def resume(to: Connection, name: Name, reason: Reason = None) -> None:
    """Start jobs of a paused tenant again."""
    resume_subject(to, to.of_tenant(name), "tenant", name, reason)


@action(commands, "drop", "tenure tenant drop acme --yes")
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
