"""Tenure's schema as a part of somebody else's Alembic history."""

from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
import sqlalchemy
from alembic import command
from alembic.config import Config
from psycopg.conninfo import conninfo_to_dict

from tenure.domain.tenant import DEFAULT, Tenant
from tenure.errors import SchemaMismatch
from tenure.store import schema
from tenure.store.store import Store
from tests.factories import make_job
from tests.store.describe import describe

ENV = """
from alembic import context
from sqlalchemy import create_engine, pool

url = context.config.attributes["url"]
if context.is_offline_mode():
    context.configure(url=url)
    with context.begin_transaction():
        context.run_migrations()
else:
    with create_engine(url, poolclass=pool.NullPool).connect() as connection:
        context.configure(connection=connection)
        with context.begin_transaction():
            context.run_migrations()
"""

REVISION = '''
"""{what}"""
from alembic import op
from tenure.contrib import alembic as tenure

revision, down_revision = {revision!r}, {down!r}

def upgrade():
    {upgrade}

def downgrade():
    {downgrade}
'''

ORDERS = ("op.execute('CREATE TABLE orders (id int)')", "op.execute('DROP TABLE orders')")
JOBS = ("tenure.upgrade(op)", "tenure.downgrade(op)")
ACMES_JOBS = ("tenure.upgrade(op, 'acme')", "tenure.downgrade(op, 'acme')")
NEWER_JOBS = ("tenure.upgrade(op)", "pass")

Project = Callable[..., Config]


@pytest.fixture
def project(tmp_path: Path, empty_database: str) -> Project:
    """An Alembic environment with one revision for each pair of statements, in order."""

    def make(*revisions: tuple[str, str]) -> Config:
        (tmp_path / "versions").mkdir()
        (tmp_path / "env.py").write_text(ENV)
        for number, (upgrade, downgrade) in enumerate(revisions, 1):
            text = REVISION.format(
                what=upgrade,
                revision=str(number),
                down=str(number - 1) if number > 1 else None,
                upgrade=upgrade,
                downgrade=downgrade,
            )
            (tmp_path / "versions" / f"{number}.py").write_text(text)
        config = Config()
        config.set_main_option("script_location", str(tmp_path))
        config.set_main_option("path_separator", "os")
        parts = conninfo_to_dict(empty_database)
        config.attributes["url"] = sqlalchemy.URL.create(
            "postgresql+psycopg",
            str(parts["user"]),
            database=str(parts["dbname"]),
            query={"host": str(parts["host"]), "port": str(parts["port"])},
        )
        return config

    return make


@pytest.fixture
def own(empty_database: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(empty_database, autocommit=True) as connection:
        yield connection


def names(connection: psycopg.Connection) -> set[str]:
    rows = connection.execute("SELECT nspname FROM pg_namespace").fetchall()
    return {name for (name,) in rows if name.startswith("tenure")}


def test_an_upgrade_brings_the_schema_and_a_downgrade_takes_it_away(
    project: Project, own: psycopg.Connection, empty_database: str
) -> None:
    config = project(ORDERS, JOBS)
    command.upgrade(config, "head")
    assert all(plan.is_empty for plan in schema.pending(own, DEFAULT))
    with Store(empty_database) as store:
        job = make_job(store, args={"percent": "50 %", "colon": ":x"})
        assert store.show(job).status == "queued"
    command.downgrade(config, "base")
    assert names(own) == set()
    assert own.execute("SELECT to_regclass('orders')").fetchone() == (None,)


def test_the_schema_is_the_one_that_migrate_makes(
    project: Project, own: psycopg.Connection, sql: psycopg.Connection
) -> None:
    command.upgrade(project(JOBS), "head")
    assert describe(own, "tenure") == describe(sql, "tenure")


def test_what_comes_after_it_in_the_same_transaction_finds_its_own_tables(
    project: Project, own: psycopg.Connection
) -> None:
    command.upgrade(project(JOBS, ORDERS), "head")
    assert own.execute("SELECT to_regclass('public.orders')::text").fetchone() == ("orders",)


def test_tenants_have_revisions_of_their_own(
    project: Project, own: psycopg.Connection, empty_database: str
) -> None:
    config = project(JOBS, ACMES_JOBS)
    command.upgrade(config, "head")
    assert names(own) == {"tenure", "tenure_acme"}
    with Store(empty_database, Tenant("acme")) as store:
        make_job(store)
    command.downgrade(config, "1")
    assert names(own) == {"tenure"}
    assert schema.tenants(own) == [DEFAULT]


def test_a_later_revision_does_only_what_is_left_to_do(
    project: Project,
    own: psycopg.Connection,
    empty_database: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    files = schema._files

    def with_one_more(folder: str, kind: str) -> list[tuple[str, str]]:
        more = ("9001_more", "CREATE TABLE tenant.more (id int);")
        added = [more] if (folder, kind) == ("migrations", "tenant") else []
        return [*files(folder, kind), *added]

    config = project(JOBS, NEWER_JOBS)
    command.upgrade(config, "1")
    with Store(empty_database) as store:
        job = make_job(store)
        monkeypatch.setattr(schema, "_files", with_one_more)
        command.upgrade(config, "2")
        assert own.execute("SELECT to_regclass('tenure.more') IS NULL").fetchone() == (False,)
        assert store.show(job).status == "queued"


def test_an_upgrade_written_as_sql_does_the_same(
    project: Project, own: psycopg.Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    command.upgrade(project(JOBS), "head", sql=True)
    own.execute(capsys.readouterr().out.encode())
    assert all(plan.is_empty for plan in schema.pending(own, DEFAULT))


def test_a_database_that_is_newer_is_refused_in_a_sentence(
    project: Project, own: psycopg.Connection
) -> None:
    schema.migrate(own)
    own.execute("INSERT INTO tenure.migration VALUES ('', 9999, 'from the future')")
    with pytest.raises(SchemaMismatch) as refused:
        command.upgrade(project(JOBS), "head")
    assert str(refused.value) == (
        "the database is newer than this version of Tenure; upgrade Tenure first"
    )
