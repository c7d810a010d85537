"""What the catalog says of our functions, tables and indexes."""

import psycopg
import pytest

from tenure.domain.tenant import Tenant
from tenure.store import schema
from tests.store.catalog import ask, executable_by_everybody

pytestmark = pytest.mark.fresh_database

ACME = Tenant("acme")

OURS = "('tenure'::regnamespace, 'tenure_acme'::regnamespace)"


@pytest.fixture
def catalog(sql: psycopg.Connection) -> psycopg.Connection:
    """A database with the default tenant and a further one."""
    schema.migrate(sql, ACME)
    return sql


def test_every_function_that_runs_as_its_owner_has_its_search_path_pinned(
    catalog: psycopg.Connection,
) -> None:
    loose = f"""
        SELECT p.oid::regprocedure::text FROM pg_proc AS p
        WHERE p.pronamespace IN {OURS} AND p.prosecdef
          AND NOT 'search_path=pg_catalog, pg_temp' = ANY (coalesce(p.proconfig, '{{}}'))
    """
    assert ask(catalog, loose) == []


def test_every_function_is_pinned_or_was_parsed_when_it_was_made(
    catalog: psycopg.Connection,
) -> None:
    loose = f"""
        SELECT p.oid::regprocedure::text FROM pg_proc AS p
        WHERE p.pronamespace IN {OURS} AND p.prosqlbody IS NULL
          AND NOT 'search_path=pg_catalog, pg_temp' = ANY (coalesce(p.proconfig, '{{}}'))
    """
    assert ask(catalog, loose) == []


def test_no_function_is_executable_by_everybody(catalog: psycopg.Connection) -> None:
    assert executable_by_everybody(catalog) == []


def test_no_table_view_or_schema_is_open_to_everybody(catalog: psycopg.Connection) -> None:
    open_ones = f"""
        SELECT c.relname FROM pg_class AS c CROSS JOIN aclexplode(c.relacl) AS may
        WHERE c.relnamespace IN {OURS} AND may.grantee = 0
        UNION ALL
        SELECT n.nspname FROM pg_namespace AS n CROSS JOIN aclexplode(n.nspacl) AS may
        WHERE n.oid IN {OURS} AND may.grantee = 0
    """
    assert ask(catalog, open_ones) == []


def test_all_times_have_a_time_zone(catalog: psycopg.Connection) -> None:
    without = f"""
        SELECT a.attrelid::regclass::text, a.attname
        FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
        WHERE c.relnamespace IN {OURS} AND a.atttypid IN ('timestamp'::regtype, 'time'::regtype)
        UNION ALL
        SELECT p.oid::regprocedure::text, '' FROM pg_proc AS p
        WHERE p.pronamespace IN {OURS} AND ('timestamp'::regtype = ANY (p.proargtypes)
           OR p.prorettype = 'timestamp'::regtype)
    """
    assert ask(catalog, without) == []


def test_every_index_on_jobs_is_partial_but_the_primary_key_and_those_that_cost_nothing(
    catalog: psycopg.Connection,
) -> None:
    whole = """
        SELECT c.relname, m.amname FROM pg_index AS i
        JOIN pg_class AS c ON c.oid = i.indexrelid JOIN pg_am AS m ON m.oid = c.relam
        WHERE i.indrelid = 'tenure.job'::regclass AND i.indpred IS NULL
        ORDER BY 1
    """
    assert ask(catalog, whole) == [
        ("job_ended", "brin"),
        ("job_lanes", "brin"),
        ("job_pkey", "btree"),
        ("job_targets", "brin"),
    ]
