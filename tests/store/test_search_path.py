"""Nothing is found by the search path: a decoy of everything comes first, and none is called."""

from datetime import timedelta

import psycopg
import pytest

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import Intent, State
from tenure.domain.tenant import Tenant
from tenure.errors import NotAllowed
from tenure.store.migrating import Migrator
from tenure.store.outcomes import Report
from tenure.store.store import Store
from tests.factories import make_job, make_job_in, make_jobs, make_worker, promote
from tests.store.catalog import ask
from tests.store.describe import describe

pytestmark = pytest.mark.fresh_database

ACME = Tenant("acme")

DECOYS = """
CREATE SCHEMA hostile;
CREATE FUNCTION hostile.plant(statement text) RETURNS integer LANGUAGE plpgsql AS
$$ BEGIN EXECUTE statement; RETURN 1; EXCEPTION WHEN OTHERS THEN RETURN 0; END $$;

CREATE FUNCTION hostile.plant_function(name text, args text, result text) RETURNS integer
RETURN hostile.plant(format('CREATE FUNCTION hostile.%I(%s) RETURNS %s LANGUAGE plpgsql AS %L',
    name, args, result, format('BEGIN RAISE EXCEPTION ''the decoy %s was called''; END', name)));

CREATE TABLE hostile.planted AS
SELECT hostile.plant_function(p.proname, pg_get_function_identity_arguments(p.oid), 'json') AS n
FROM pg_proc AS p WHERE p.pronamespace = 'tenure'::regnamespace
UNION ALL
SELECT hostile.plant_function(p.proname,
    (SELECT string_agg(format_type(a.type, NULL), ', ' ORDER BY a.place)
     FROM unnest(p.proargtypes) WITH ORDINALITY AS a(type, place)),
    CASE WHEN p.proretset THEN 'SETOF ' ELSE '' END || format_type(p.prorettype, NULL))
FROM pg_proc AS p WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind IN ('f', 'a')
UNION ALL
SELECT hostile.plant_function('operator' || o.oid,
        format_type(o.oprleft, NULL) || ', ' || format_type(o.oprright, NULL),
        format_type(o.oprresult, NULL))
    * hostile.plant(format('CREATE OPERATOR hostile.%s (FUNCTION = hostile.operator%s, '
        'LEFTARG = %s, RIGHTARG = %s)', o.oprname, o.oid, format_type(o.oprleft, NULL),
        format_type(o.oprright, NULL)))
FROM pg_operator AS o WHERE o.oprnamespace = 'pg_catalog'::regnamespace AND o.oprleft <> 0
UNION ALL
SELECT hostile.plant(format('CREATE TABLE hostile.%I (trap int)', c.relname))
FROM pg_class AS c WHERE c.relkind IN ('r', 'v')
  AND c.relnamespace IN ('pg_catalog'::regnamespace, 'tenure'::regnamespace);

GRANT USAGE ON SCHEMA hostile TO PUBLIC;
"""
HOSTILE = "&options=-c%20search_path%3Dhostile%2Cpg_catalog"


@pytest.fixture
def hostile(database: str, sql: psycopg.Connection) -> str:
    """The URL of a database where a decoy of every function, operator and table comes first."""
    sql.execute(DECOYS)
    [[planted]] = ask(sql, "SELECT sum(n) FROM hostile.planted")
    assert isinstance(planted, int)
    assert planted > 3000
    with psycopg.connect(database + HOSTILE, autocommit=True) as connection:
        for called in ("SELECT now()", "SELECT 1 = 1", "SELECT length('a')"):
            with pytest.raises(psycopg.errors.RaiseException, match=r"the decoy .* was called"):
                connection.execute(called.encode())
    return database + HOSTILE


def test_the_life_of_a_job_calls_no_decoy(hostile: str) -> None:
    with Store(hostile) as store:
        worker = make_worker(store, timedelta(hours=1))
        store.create_pool("slots", ["one"])
        ids = make_jobs(
            store,
            [
                NewJob(key="root", idempotency="all"),
                NewJob(key="one", parent="root", task="work", target="site", pools=["slots"]),
                NewJob(key="two", parent="root", task="work", after=["one"], tags=["t"]),
                NewJob(key="three", parent="root", task="work", target="site"),
            ],
        )
        make_job(store, task="unique", unique="one")
        store.enqueue_many(NewJob(task="many"), [{"x": 1}, {"x": 2}])
        one = worker.claim_one()
        report = Report(job=one.id, token=one.token, spent={"tokens": 5}, partials=[1])
        store.report(worker.id, [report])
        worker.finish(one, value=1)
        promote(store)
        two, three = worker.claim(2)
        store.stop(two.id)
        store.renew(worker.id)
        worker.finish(two, "stopped", heard=True)
        worker.crash(three)
        worker.release(*worker.claim(5))
        promote(store)
        store.recover()
        store.rerun(one.id)
        store.pause_dispatch("queue", "default")
        store.resume_dispatch("queue", "default")
        paused = make_job(store, task="paused")
        store.stop(paused, intent=Intent.PAUSE)
        store.resume(paused)
        for job in ids.values():
            store.show(job)
            store.explain(job)
        store.list_jobs({"queue": "default"})
        store.statistics()
        store.cancellations()
        store.audit_log()
        store.job_output(one.id, "partials")
        store.pools()
        store.prune({State.COMPLETED: timedelta(0)})
        store.drain(worker.id)
        store.leave(worker.id)


def test_a_producers_own_search_path_calls_no_decoy(
    hostile: str, sql: psycopg.Connection, store: Store
) -> None:
    role = f"hostile_producer_of_{sql.info.dbname}"
    sql.execute(f"CREATE ROLE {role} LOGIN".encode())
    sql.execute(f"ALTER ROLE {role} SET search_path = hostile, pg_catalog, tenure".encode())
    store.admit(role, "producer")
    url = hostile.removesuffix(HOSTILE).replace("postgres@", f"{role}@")
    with Store(url) as producer:
        job = make_job(producer, target="site", unique="one", tags=["t"])
        assert make_job(producer, target="site", unique="one") == job
        assert producer.show(job).owner == f"db:{role}"
        producer.explain(job)
        with pytest.raises(NotAllowed):
            producer.stop(job)


def test_a_migration_finds_nothing_by_the_search_path(
    empty: psycopg.Connection, empty_database: str, sql: psycopg.Connection
) -> None:
    empty.execute("CREATE SCHEMA tenure")  # for the decoys; the bootstrap takes it as it is
    empty.execute(DECOYS)
    Migrator(empty_database + HOSTILE).migrate(ACME)
    assert describe(empty, "tenure") == describe(sql, "tenure")
    strangers = ask(
        empty,
        """
        SELECT pg_describe_object(d.classid, d.objid, d.objsubid) FROM pg_depend AS d
        WHERE pg_describe_object(d.refclassid, d.refobjid, d.refobjsubid) LIKE '%hostile%'
          AND pg_describe_object(d.classid, d.objid, d.objsubid) LIKE '%tenure%'
        """,
    )
    assert strangers == []
    with Store(empty_database, ACME) as store:
        make_job_in(store, State.COMPLETED)
