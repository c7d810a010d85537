"""``tenure migrate``: bring the database to what this version needs."""

import os
from pathlib import Path
from typing import Annotated

import typer

from tenure.config import Settings
from tenure.domain.tenant import DEFAULT, Tenant
from tenure.errors import SettingInvalid
from tenure.store import schema
from tenure.store.embedded import Embedded
from tenure.store.migrating import Migrator


def migrate(
    tenant: Annotated[
        str, typer.Option(help="The tenant to make or bring up to date.")
    ] = DEFAULT.name,
    everybody: Annotated[
        bool, typer.Option("--all", help="Every tenant there is, one transaction each.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit with 1 if there is work to do.")
    ] = False,
    sql: Annotated[
        bool, typer.Option("--sql", help="Print the SQL, for psql or Alembic, and change nothing.")
    ] = False,
    url: Annotated[
        str | None,
        typer.Option(envvar="TENURE_DATABASE_URL", help="Your PostgreSQL; else the embedded one."),
    ] = None,
) -> None:
    """Bring the database to what this version needs; safe to run from many places at once.

    Examples: tenure migrate; tenure migrate --tenant acme; tenure migrate --all --check
    """
    if everybody and (tenant != DEFAULT.name or sql):
        raise SettingInvalid("--all goes with neither --tenant nor --sql")
    if check and sql:
        raise SettingInvalid("--check looks at a database and --sql needs none; give one of them")
    chosen = Tenant(tenant)
    if sql:
        typer.echo(schema.script(chosen))
        return
    if url is not None:
        _migrate(Migrator(url), chosen, everybody=everybody, check=check)
        return
    with Embedded.open(Path(Settings.from_environment(os.environ).folder)) as embedded:
        _migrate(Migrator(embedded.url), chosen, everybody=everybody, check=check)


def _migrate(migrator: Migrator, tenant: Tenant, *, everybody: bool, check: bool) -> None:
    behind = False
    for each in (everybody and migrator.tenants()) or [tenant]:
        for plan in migrator.pending(each) if check else migrator.migrate(each):
            scope = plan.scope or "control"
            if plan.is_empty:
                typer.echo(f"{scope}: up to date")
                continue
            behind = True
            names = [f"{m.number:04}_{m.name}" for m in plan.migrations]
            names += ["verbs"] if plan.verbs else []
            typer.echo(f"{scope}: {'needs' if check else 'applied'} {', '.join(names)}")
    if check and behind:
        raise typer.Exit(1)
