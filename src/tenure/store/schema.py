"""The schema in the database: numbered migrations for tables, one file per verb for functions.

Tables change by migrations, which run once and in order. Functions are code: they are replaced as a
whole whenever their text has changed. In both, ``tenant.`` stands for the tenant's own schema and
``{tenant}`` for its name; the control schema is always ``tenure``.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources

import psycopg
from psycopg import sql

from tenure.domain.tenant import DEFAULT, Tenant
from tenure.errors import SchemaMismatch

CONTROL = "control"  # the scope of what all tenants share, in the table of migrations
_KINDS = (CONTROL, "tenant")
_LOCK = 0x74656E757265  # "tenure": one migration at a time in a database

_BOOTSTRAP = """
CREATE SCHEMA IF NOT EXISTS tenure;
CREATE TABLE IF NOT EXISTS tenure.migration (
    scope      text NOT NULL,
    number     integer NOT NULL,
    name       text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (scope, number)
);
CREATE TABLE IF NOT EXISTS tenure.verbs (
    scope        text PRIMARY KEY,
    digest       text NOT NULL,
    installed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
DO $$ BEGIN
    -- Members may name the actor of an action. Where roles cannot be created the owner alone may.
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'tenure_delegate') THEN
        CREATE ROLE tenure_delegate NOLOGIN;
    END IF;
EXCEPTION WHEN insufficient_privilege OR duplicate_object OR unique_violation THEN NULL;
END $$;
"""


@dataclass(frozen=True)
class Migration:
    number: int
    name: str
    text: str


@dataclass(frozen=True)
class Plan:
    """What one scope still needs."""

    scope: str
    migrations: tuple[Migration, ...]
    verbs: bool

    @property
    def is_empty(self) -> bool:
        return not self.migrations and not self.verbs


def migrations(kind: str) -> list[Migration]:
    found = []
    for name, text in _files("migrations", kind):
        number, _, rest = name.partition("_")
        found.append(Migration(int(number), rest, text))
    return found


def verbs(kind: str) -> str:
    return "\n".join(text for _, text in _files("verbs", kind))


def render(text: str, tenant: Tenant) -> str:
    """The text with the tenant's own schema and name in it."""
    text = re.sub(r"(?<![\w.\"])tenant\.(?=\w)", f'"{tenant.schema}".', text)
    return text.replace("{tenant}", tenant.name)


def script(tenant: Tenant, *, fresh: bool = True) -> str:
    """Everything as one SQL text, for a person, for psql or for ``op.execute``."""
    parts = []
    if fresh:
        parts.append(_BOOTSTRAP)
    for kind in _KINDS:
        scope = _scope(kind, tenant)
        parts.extend(_statements(Plan(scope, tuple(migrations(kind)), verbs=True), tenant, kind))
    return "\n".join(parts)


def migrate(connection: psycopg.Connection, tenant: Tenant = DEFAULT) -> list[Plan]:
    """Bring the control schema and one tenant's to what this code needs; all of it or nothing.

    Safe to run from any number of processes at once: they take their turn.
    """
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        cursor.execute(_BOOTSTRAP)
        done = []
        for kind in _KINDS:
            plan = _plan(cursor, kind, tenant)
            for statement in _statements(plan, tenant, kind):
                cursor.execute(statement.encode())
            done.append(plan)
        return done


def pending(connection: psycopg.Connection, tenant: Tenant = DEFAULT) -> list[Plan]:
    """What ``migrate`` would do; nothing is changed."""
    with connection.transaction(), connection.cursor() as cursor:
        known = cursor.execute("SELECT to_regclass('tenure.verbs') IS NOT NULL").fetchone()
        if known == (False,):
            return [
                Plan(_scope(kind, tenant), tuple(migrations(kind)), verbs=True) for kind in _KINDS
            ]
        return [_plan(cursor, kind, tenant) for kind in _KINDS]


def tenants(connection: psycopg.Connection) -> list[Tenant]:
    rows = connection.execute("SELECT name FROM tenure.tenant ORDER BY name").fetchall()
    return [Tenant(name) for (name,) in rows]


def drop(connection: psycopg.Connection, tenant: Tenant) -> None:
    """Delete a tenant with all its jobs."""
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        cursor.execute(
            sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(tenant.schema))
        )
        for table in ("migration", "verbs"):
            cursor.execute(
                sql.SQL("DELETE FROM tenure.{} WHERE scope = %s").format(sql.Identifier(table)),
                (tenant.name,),
            )
        cursor.execute("DELETE FROM tenure.tenant WHERE name = %s", (tenant.name,))
        cursor.execute("DELETE FROM tenure.signal WHERE tenant = %s", (tenant.name,))


def _scope(kind: str, tenant: Tenant) -> str:
    return "" if kind == CONTROL else tenant.name


def _plan(cursor: psycopg.Cursor, kind: str, tenant: Tenant) -> Plan:
    scope = _scope(kind, tenant)
    rows = cursor.execute(
        "SELECT number FROM tenure.migration WHERE scope = %s", (scope,)
    ).fetchall()
    applied = {number for (number,) in rows}
    known = migrations(kind)
    if newer := applied - {migration.number for migration in known}:
        raise SchemaMismatch(
            f"the database has migration {max(newer):04} of {scope or 'the control schema'}, which "
            f"this version of Tenure does not know; upgrade Tenure before you use this database"
        )
    row = cursor.execute("SELECT digest FROM tenure.verbs WHERE scope = %s", (scope,)).fetchone()
    return Plan(
        scope,
        tuple(migration for migration in known if migration.number not in applied),
        verbs=row != (_digest(verbs(kind)),),
    )


def _statements(plan: Plan, tenant: Tenant, kind: str) -> Iterator[str]:
    if plan.is_empty:
        return
    schema = "tenure" if kind == CONTROL else tenant.schema
    scope = f"'{plan.scope}'"
    yield "SET LOCAL check_function_bodies = off;"
    yield f'CREATE SCHEMA IF NOT EXISTS "{schema}";'
    for migration in plan.migrations:
        yield render(migration.text, tenant)
        yield (
            f"INSERT INTO tenure.migration (scope, number, name) "
            f"VALUES ({scope}, {migration.number}, '{migration.name}');"
        )
    if kind != CONTROL:
        yield (
            f"INSERT INTO tenure.tenant (name, schema, created_at) "
            f"VALUES ('{tenant.name}', '{tenant.schema}', clock_timestamp()) "
            f"ON CONFLICT DO NOTHING;"
        )
    yield render(verbs(kind), tenant)
    yield f'REVOKE ALL ON ALL FUNCTIONS IN SCHEMA "{schema}" FROM PUBLIC;'
    yield (
        f"INSERT INTO tenure.verbs (scope, digest) VALUES ({scope}, '{_digest(verbs(kind))}') "
        f"ON CONFLICT (scope) DO UPDATE SET digest = excluded.digest, "
        f"installed_at = clock_timestamp();"
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _files(folder: str, kind: str) -> Iterator[tuple[str, str]]:
    place = resources.files("tenure.store") / folder / kind
    for file in sorted(place.iterdir(), key=lambda entry: entry.name):
        if file.name.endswith(".sql"):
            yield file.name.removesuffix(".sql"), file.read_text("utf-8")
