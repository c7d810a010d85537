"""``tenure migrate``: bring the database to what this version needs."""

import os
from pathlib import Path
from typing import Annotated

import typer

from tenure.cli.connecting import Json, TenantName, Url
from tenure.cli.printing import Printer
from tenure.config import Settings
from tenure.domain.tenant import DEFAULT, Tenant
from tenure.errors import InputRefused
from tenure.store import schema
from tenure.store.embedded import Embedded, require_database
from tenure.store.migrating import Migrator
from tenure.store.schema import Plan

EXAMPLES = ("tenure migrate", "tenure migrate --tenant acme", "tenure migrate --all --check")


def migrate(
    everybody: Annotated[
        bool, typer.Option("--all", help="Every tenant there is, one transaction each.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit with 1 if there is work to do.")
    ] = False,
    sql: Annotated[
        bool, typer.Option("--sql", help="Print the SQL, for psql or Alembic, and change nothing.")
    ] = False,
    url: Url = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Bring the database to what this version needs; safe to run from many places at once."""
    if everybody and (tenant is not None or sql):
        raise InputRefused("--all goes with neither --tenant nor --sql")
    if check and sql:
        raise InputRefused("--check looks at a database and --sql needs none; give one of them")
    chosen, show = Tenant(DEFAULT.name if tenant is None else tenant), Printer(json=json)
    if sql:
        script = schema.script(chosen)
        show.document({"sql": script}) if json else typer.echo(script)
        return
    if url:
        plans = _migrate(Migrator(url), chosen, everybody=everybody, check=check)
    else:
        folder = Path(Settings.from_environment(os.environ).folder)
        if check:
            require_database(folder)
        with Embedded.open(folder) as embedded:
            plans = _migrate(Migrator(embedded.url), chosen, everybody=everybody, check=check)
    if json:
        show.document([{"scope": _scope(plan), "work": _work(plan)} for plan in plans])
    else:
        for plan in plans:
            done = f"{'needs' if check else 'applied'} {', '.join(_work(plan))}"
            show.say(f"{_scope(plan)}: {'up to date' if plan.is_empty else done}")
    if check and not all(plan.is_empty for plan in plans):
        raise typer.Exit(1)


def _migrate(migrator: Migrator, tenant: Tenant, *, everybody: bool, check: bool) -> list[Plan]:
    plans = []
    for each in (everybody and migrator.tenants()) or [tenant]:
        plans += migrator.pending(each) if check else migrator.migrate(each)
    return plans


def _scope(plan: Plan) -> str:
    return plan.scope or "control"


def _work(plan: Plan) -> list[str]:
    names = [f"{it.number:04}_{it.name}" for it in plan.migrations]
    return [*names, "verbs"] if plan.verbs else names
