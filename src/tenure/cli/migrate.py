"""``tenure migrate``: bring the database schema up to date."""

import os
from pathlib import Path

import typer

from tenure.cli.options import Json, TenantOption, Url, flag
from tenure.cli.output import Printer
from tenure.config import Settings
from tenure.domain.tenant import DEFAULT, Tenant
from tenure.errors import InputRefused
from tenure.store import schema
from tenure.store.embedded import Embedded, require_database
from tenure.store.migrating import Migrator
from tenure.store.schema import Plan

EXAMPLES = ("tenure migrate", "tenure migrate --tenant acme", "tenure migrate --all --check")


def migrate(
    everybody: bool = flag("--all", "Migrate every tenant, in one transaction each."),
    check: bool = flag("--check", "Change nothing; exit with 1 if migrations are pending."),
    sql: bool = flag("--sql", "Print the SQL, for psql or Alembic, and change nothing."),
    url: Url = None,
    tenant: TenantOption = None,
    json: Json = False,
) -> None:
    """Bring the database schema up to date; safe to run concurrently."""
    if everybody and (tenant is not None or sql):
        raise InputRefused("--all excludes --tenant and --sql")
    if check and sql:
        raise InputRefused("--check and --sql exclude each other; give one of them")
    chosen, out = Tenant(DEFAULT.name if tenant is None else tenant), Printer(json=json)
    if sql:
        script = schema.script(chosen)
        out.document({"sql": script}) if json else typer.echo(script)
        return
    if url:
        plans = _migrate(Migrator(url), chosen, everybody=everybody, check=check)
    else:
        folder = Path(Settings.from_environment(os.environ).folder)
        if check:
            require_database(folder)
        with Embedded.open(folder) as embedded:
            plans = _migrate(Migrator(embedded.url), chosen, everybody=everybody, check=check)
    out.answer(
        [{"scope": _scope(plan), "work": _work(plan)} for plan in plans],
        "\n".join(_line(plan, check=check) for plan in plans),
    )
    if check and not all(plan.is_empty for plan in plans):
        raise typer.Exit(1)


def _migrate(migrator: Migrator, tenant: Tenant, *, everybody: bool, check: bool) -> list[Plan]:
    plans = []
    for each in (everybody and migrator.tenants()) or [tenant]:
        plans += migrator.pending(each) if check else migrator.migrate(each)
    return plans


def _line(plan: Plan, *, check: bool) -> str:
    done = f"{'needs' if check else 'applied'} {', '.join(_work(plan))}"
    return f"{_scope(plan)}: {'up to date' if plan.is_empty else done}"


def _scope(plan: Plan) -> str:
    return plan.scope or "control"


def _work(plan: Plan) -> list[str]:
    names = [f"{each.number:04}_{each.name}" for each in plan.migrations]
    return [*names, "verbs"] if plan.verbs else names
