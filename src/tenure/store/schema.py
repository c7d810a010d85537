"""The schema in the database: numbered migrations for tables, one file per verb for functions.

Tables change by migrations, which run once and in order. Functions are code: they are replaced as a
whole whenever their text has changed; one that takes other arguments than before, or is gone, is
dropped by a migration. In both, ``tenant.`` stands for the tenant's own schema and ``{tenant}`` for
its name; the control schema is always ``tenure`` and holds the default tenant's jobs too.
``{reason.max}`` stands for a bound that ``tenure.domain.bounds`` declares, ``{index_scans}`` for
planner settings.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable

import psycopg

from tenure.domain import bounds
from tenure.domain.tenant import DEFAULT, Tenant
from tenure.errors import IllegalTransition, NotFound, SchemaMismatch

CONTROL = "control"  # the schema that all tenants share
_LOCK = 0x74656E757265  # "tenure": one migration at a time in a database

# Verbs read a few rows of large tables: a plan that reads a whole table is never right, however
# old the statistics are.
_PLANNER = {
    "{index_scans}": ("seqscan", "hashjoin", "mergejoin"),
    "{plain_index_scans}": ("seqscan", "bitmapscan", "hashjoin", "mergejoin"),
}

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
BEGIN
    -- Members may name the actor of an action. Where roles cannot be created the owner alone may.
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'tenure_delegate') THEN
        CREATE ROLE tenure_delegate NOLOGIN;
    END IF;
EXCEPTION WHEN insufficient_privilege OR duplicate_object OR unique_violation THEN NULL;
END;
"""


@dataclass(frozen=True)
class Migration:
    number: int
    name: str
    text: str


@dataclass(frozen=True)
class Plan:
    """The migrations and verbs that a scope still needs."""

    scope: str
    migrations: tuple[Migration, ...]
    verbs: bool

    @property
    def is_empty(self) -> bool:
        return not self.migrations and not self.verbs

    @property
    def is_new(self) -> bool:
        """Return whether the scope did not exist before."""
        return bool(self.migrations) and self.migrations[0].number == 1


def migrations(kind: str) -> list[Migration]:
    found = []
    for name, text in _files("migrations", kind):
        number, _, rest = name.partition("_")
        found.append(Migration(int(number), rest, text))
    return found


def verbs(kind: str) -> str:
    return "\n".join(text for _, text in _files("verbs", kind))


def migrate(
    connection: psycopg.Connection,
    tenant: Tenant = DEFAULT,
    *,
    by: str | None = None,
    via: str = "python",
) -> list[Plan]:
    """Bring the control schema and one tenant's to what this code needs; all of it or nothing.

    Any number of processes may run this at once: they wait for one another. The audit log of the
    default tenant records the creation of another tenant.
    """
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_catalog.pg_advisory_xact_lock(%s)", (_LOCK,))
        plans = _plans(cursor, tenant)
        if not all(plan.is_empty for plan in plans):
            cursor.execute(script(tenant).encode())
            if tenant != DEFAULT and plans[-1].is_new:
                cursor.execute(
                    "SELECT tenure.write_audit(tenure.actor(%s), %s, 'create', 'tenant', %s,"
                    " NULL, NULL, NULL)",
                    (by, via, tenant.name),
                )
        return plans


def pending(connection: psycopg.Connection, tenant: Tenant = DEFAULT) -> list[Plan]:
    """Return what ``migrate`` would do; change nothing."""
    with connection.transaction(), connection.cursor() as cursor:
        return _plans(cursor, tenant)


def tenants(connection: psycopg.Connection) -> list[Tenant]:
    """Return every tenant; none in a database that was never migrated."""
    found = connection.execute("SELECT pg_catalog.to_regclass('tenure.tenant')").fetchone()
    if found == (None,):
        return []
    rows = connection.execute("SELECT name FROM tenure.tenant").fetchall()
    return [Tenant(name) for name in sorted(name for (name,) in rows)]


def drop(
    connection: psycopg.Connection,
    tenant: Tenant,
    *,
    force: bool = False,
    by: str | None = None,
    via: str = "python",
) -> None:
    """Delete a tenant with all its jobs and tokens; the default tenant records it.

    Refused while workers hold its jobs, unless ``force`` is given: then they lose their jobs.
    """
    if tenant == DEFAULT:
        connection.execute(drop_script(DEFAULT).encode())
        return
    if tenant not in tenants(connection):
        raise NotFound(f"there is no tenant {tenant.name!r}")
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_catalog.pg_advisory_xact_lock(%s)", (_LOCK,))
        # No job is claimed between the check and the drop.
        cursor.execute(f'LOCK TABLE "{tenant.schema}".job IN ACCESS EXCLUSIVE MODE'.encode())
        held = f"SELECT pg_catalog.count(*) FROM \"{tenant.schema}\".job WHERE state = 'running'"
        (running,) = cursor.execute(held.encode()).fetchone() or (0,)
        if running and not force:
            raise IllegalTransition(
                f"workers hold {running} jobs of tenant {tenant.name}; cancel them first, or drop "
                f"it by force"
            )
        cursor.execute(drop_script(tenant).encode())
        cursor.execute(
            "SELECT tenure.write_audit(tenure.actor(%s), %s, 'drop', 'tenant', %s, NULL,"
            " pg_catalog.jsonb_build_object('running', %s::int), NULL)",
            (by, via, tenant.name, running),
        )


def script(tenant: Tenant) -> str:
    """Return all that ``migrate`` does as one statement, for psql, ``op.execute`` or any driver.

    It skips what has been done, so it takes a database from any version to this one.
    """
    return _block(_BOOTSTRAP, *(_steps(kind, of) for kind, of in _scopes(tenant)))


def drop_script(tenant: Tenant) -> str:
    """Return a statement that deletes a tenant with all its jobs; the default one must be last."""
    if tenant == DEFAULT:
        return _block("""
IF EXISTS (SELECT FROM tenure.tenant WHERE name <> 'default') THEN
    RAISE EXCEPTION USING ERRCODE = 'TN001',
        MESSAGE = 'there are further tenants; drop them before the default one';
END IF;
DROP SCHEMA tenure CASCADE;
""")
    return _block(f"""
DROP SCHEMA IF EXISTS "{tenant.schema}" CASCADE;
DELETE FROM tenure.migration WHERE scope = '{tenant.name}';
DELETE FROM tenure.verbs WHERE scope = '{tenant.name}';
DELETE FROM tenure.tenant WHERE name = '{tenant.name}';
DELETE FROM tenure.signal WHERE tenant = '{tenant.name}';
DELETE FROM tenure.hold WHERE tenant = '{tenant.name}';
DELETE FROM tenure.task WHERE tenant = '{tenant.name}';
DELETE FROM tenure.bearer WHERE tenant = '{tenant.name}';
""")


def render(text: str, tenant: Tenant) -> str:
    """Return the text with the tenant's own schema and name in it."""
    text = re.sub(r"(?<![\w.\"])tenant\.(?=\w)", f'"{tenant.schema}".', text)
    return text.replace("{tenant}", tenant.name)


def expand(text: str) -> str:
    """Return the text with bounds and planner settings in place of their names."""
    for name, methods in _PLANNER.items():
        text = text.replace(name, " ".join(f"SET enable_{method} = off" for method in methods))
    return bounds.render(text)


def _scopes(tenant: Tenant) -> list[tuple[str, Tenant]]:
    """Return the scopes of a tenant in order: the shared one, the default tenant, its own."""
    return list(dict.fromkeys([(CONTROL, DEFAULT), ("tenant", DEFAULT), ("tenant", tenant)]))


def _name(kind: str, tenant: Tenant) -> str:
    return "" if kind == CONTROL else tenant.name


def _plans(cursor: psycopg.Cursor, tenant: Tenant) -> list[Plan]:
    found = cursor.execute("SELECT pg_catalog.to_regclass('tenure.verbs')").fetchone()
    if found == (None,):
        return [
            Plan(_name(kind, of), tuple(migrations(kind)), verbs=True)
            for kind, of in _scopes(tenant)
        ]
    return [_plan(cursor, kind, of) for kind, of in _scopes(tenant)]


def _plan(cursor: psycopg.Cursor, kind: str, tenant: Tenant) -> Plan:
    scope = _name(kind, tenant)
    rows = cursor.execute(
        "SELECT number FROM tenure.migration WHERE scope OPERATOR(pg_catalog.=) %s", (scope,)
    ).fetchall()
    applied = {number for (number,) in rows}
    known = migrations(kind)
    if newer := applied - {migration.number for migration in known}:
        raise SchemaMismatch(
            f"the database has migration {max(newer):04} of {scope or 'the control schema'}, which "
            f"this version of Tenure does not know; upgrade Tenure before you use this database"
        )
    row = cursor.execute(
        "SELECT digest FROM tenure.verbs WHERE scope OPERATOR(pg_catalog.=) %s", (scope,)
    ).fetchone()
    return Plan(
        scope,
        tuple(migration for migration in known if migration.number not in applied),
        verbs=row != (_digest(verbs(kind)),),
    )


def _block(*steps: str) -> str:
    """Return the steps as one statement that holds the lock and ignores the search path."""
    return f"""
DO $tenure$
DECLARE
    path   CONSTANT pg_catalog.text := pg_catalog.current_setting('search_path');
    bodies CONSTANT pg_catalog.text := pg_catalog.current_setting('check_function_bodies');
BEGIN
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    PERFORM pg_catalog.set_config('check_function_bodies', 'off', true);
    PERFORM pg_catalog.pg_advisory_xact_lock({_LOCK});
{"".join(steps)}
    -- The rest of the transaction may belong to the caller.
    PERFORM pg_catalog.set_config('search_path', path, true);
    PERFORM pg_catalog.set_config('check_function_bodies', bodies, true);
END $tenure$;
"""


def _steps(kind: str, tenant: Tenant) -> str:
    """Return the PL/pgSQL that brings a scope up to date; it skips steps that were taken."""
    scope, schema = f"'{_name(kind, tenant)}'", "tenure" if kind == CONTROL else tenant.schema
    known, code = migrations(kind), verbs(kind)
    steps = [
        f"""
IF EXISTS (SELECT FROM tenure.migration WHERE scope = {scope} AND number > {known[-1].number}) THEN
    RAISE EXCEPTION USING ERRCODE = 'TN007',
        MESSAGE = 'the database is newer than this version of Tenure; upgrade Tenure first';
END IF;
CREATE SCHEMA IF NOT EXISTS "{schema}";
"""
    ]
    steps += [
        f"""
IF NOT EXISTS (SELECT FROM tenure.migration WHERE scope = {scope} AND number = {it.number}) THEN
    EXECUTE $migration$
{render(it.text, tenant)}
    $migration$;
    INSERT INTO tenure.migration (scope, number, name) VALUES ({scope}, {it.number}, '{it.name}');
END IF;
"""
        for it in known
    ]
    if kind != CONTROL:
        steps.append(f"""
INSERT INTO tenure.tenant (name, schema, created_at)
VALUES ('{tenant.name}', '{tenant.schema}', clock_timestamp()) ON CONFLICT DO NOTHING;
""")
    digest = f"'{_digest(code)}'"
    steps.append(f"""
IF NOT EXISTS (SELECT FROM tenure.verbs WHERE scope = {scope} AND digest = {digest}) THEN
    EXECUTE $verbs$
{render(code, tenant)}
    $verbs$;
    REVOKE ALL ON ALL FUNCTIONS IN SCHEMA "{schema}" FROM PUBLIC;
    INSERT INTO tenure.verbs (scope, digest) VALUES ({scope}, {digest})
    ON CONFLICT (scope) DO UPDATE SET digest = excluded.digest, installed_at = clock_timestamp();
END IF;
""")
    if kind != CONTROL:
        steps.append(f'\nPERFORM "{schema}".regrant_verbs();\n')
    return "".join(steps)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _files(folder: str, kind: str) -> Iterator[tuple[str, str]]:
    """Yield the name and text of every SQL file below a folder, ordered by name.

    The order does not depend on subfolders: a function whose body is parsed when it is created
    comes after the functions that it calls.
    """
    found = _below(resources.files("tenure.store") / folder / kind)
    for file in sorted(found, key=lambda file: file.name):
        yield file.name.removesuffix(".sql"), expand(file.read_text("utf-8"))


def _below(place: Traversable) -> Iterator[Traversable]:
    for entry in place.iterdir():
        if entry.is_dir():
            yield from _below(entry)
        elif entry.name.endswith(".sql"):
            yield entry
