"""The schema: how it comes into a database, and what it holds to."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import asyncpg
import psycopg
import pytest

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import Intent, State
from tenure.domain.tenant import DEFAULT, Tenant
from tenure.errors import InputRefused, NotAllowed, SchemaMismatch, StoreUnavailable
from tenure.store import schema
from tenure.store.migrating import Migrator
from tenure.store.outcomes import Report
from tenure.store.store import Store
from tests.factories import ending, make_job, make_job_in, make_jobs, make_worker, promote
from tests.store.describe import describe

pytestmark = pytest.mark.fresh_database

ACME, UMBRELLA = Tenant("acme"), Tenant("umbrella")
SNAPSHOT = Path(__file__).with_name("schema.txt")
UPDATE = "TENURE_TEST_UPDATE_SNAPSHOT"  # set it to 1 to write the snapshot anew

AddFiles = Callable[[str, str, dict[str, str]], None]


@pytest.fixture
def empty(empty_database: str) -> Iterator[psycopg.Connection]:
    """A connection to a database with nothing in it."""
    with psycopg.connect(empty_database, autocommit=True) as connection:
        yield connection


@pytest.fixture
def add_files(monkeypatch: pytest.MonkeyPatch) -> AddFiles:
    """Pretend that this version has further files, or others by the same name."""

    def add(folder: str, kind: str, texts: dict[str, str]) -> None:
        before = schema._files

        def files(asked_folder: str, asked_kind: str) -> list[tuple[str, str]]:
            added = texts if (asked_folder, asked_kind) == (folder, kind) else {}
            return sorted({**dict(before(asked_folder, asked_kind)), **added}.items())

        monkeypatch.setattr(schema, "_files", files)

    return add


def ask(connection: psycopg.Connection, query: str, *values: object) -> list[tuple[object, ...]]:
    return connection.execute(query.encode(), values or None).fetchall()


def is_there(connection: psycopg.Connection, name: str) -> bool:
    return ask(connection, "SELECT to_regnamespace(%s) IS NOT NULL", name) == [(True,)]


def done(connection: psycopg.Connection) -> list[tuple[object, ...]]:
    return ask(connection, "SELECT scope, number, applied_at FROM tenure.migration ORDER BY 1, 2")


# From empty to head


@pytest.mark.parametrize("kind", ["control", "tenant"])
def test_migrations_are_numbered_from_one_without_gaps(kind: str) -> None:
    numbers = [migration.number for migration in schema.migrations(kind)]
    assert numbers == list(range(1, len(numbers) + 1))


def test_an_empty_database_comes_to_head(empty: psycopg.Connection, empty_database: str) -> None:
    plans = schema.migrate(empty)
    assert [plan.scope for plan in plans] == ["", "default"]
    assert [len(plan.migrations) for plan in plans] == [
        len(schema.migrations("control")),
        len(schema.migrations("tenant")),
    ]
    assert all(plan.is_empty for plan in schema.pending(empty))
    with Store(empty_database) as store:
        assert store.show(make_job(store)).status == "queued"


def test_migrating_again_changes_nothing(empty: psycopg.Connection) -> None:
    schema.migrate(empty)
    before = (describe(empty, "tenure"), done(empty), ask(empty, "TABLE tenure.verbs"))
    assert all(plan.is_empty for plan in schema.migrate(empty))
    assert (describe(empty, "tenure"), done(empty), ask(empty, "TABLE tenure.verbs")) == before


def test_all_migrations_make_the_schema_of_the_snapshot(empty: psycopg.Connection) -> None:
    schema.migrate(empty)
    text = describe(empty, "tenure")
    if os.environ.get(UPDATE):
        SNAPSHOT.write_text(text)
    assert text.splitlines() == SNAPSHOT.read_text().splitlines(), f"if it should: {UPDATE}=1"


PROCESS = """
import sys
from tenure.domain.tenant import DEFAULT
from tenure.store.migrating import Migrator
migrator = Migrator(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
print(sum(not plan.is_empty for plan in migrator.migrate(DEFAULT)))
"""


def test_ten_processes_that_migrate_at_once_take_their_turn(
    empty: psycopg.Connection, empty_database: str
) -> None:
    # Even where a transaction sees nothing that was committed after it began to wait.
    strictly = "SET default_transaction_isolation = 'serializable'"
    empty.execute(f"ALTER DATABASE {empty.info.dbname} {strictly}".encode())
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS, empty_database],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(10)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    answers = [process.communicate(timeout=60) for process in processes]
    assert sorted(answers) == [("0\n", "")] * 9 + [("2\n", "")]
    assert all(plan.is_empty for plan in schema.pending(empty))


# All or nothing

BAD = "ALTER TABLE tenant.job ADD COLUMN halfway int; SELECT 1 / 0;"


def test_a_migration_that_fails_leaves_an_empty_database_empty(
    empty: psycopg.Connection, add_files: AddFiles
) -> None:
    add_files("migrations", "tenant", {"9001_good": "CREATE TABLE tenant.good (id int);"})
    add_files("migrations", "tenant", {"9002_bad": BAD})
    with pytest.raises(psycopg.errors.DivisionByZero):
        schema.migrate(empty)
    assert not is_there(empty, "tenure")


def test_a_migration_that_fails_leaves_the_schema_as_it_was(
    sql: psycopg.Connection, store: Store, add_files: AddFiles
) -> None:
    before = (describe(sql, "tenure"), done(sql))
    add_files("migrations", "tenant", {"9001_good": "CREATE TABLE tenant.good (id int);"})
    add_files("migrations", "tenant", {"9002_bad": BAD})
    with pytest.raises(psycopg.errors.DivisionByZero):
        schema.migrate(sql)
    assert (describe(sql, "tenure"), done(sql)) == before
    assert make_job(store)


def test_a_verb_that_cannot_be_installed_leaves_no_migration_behind(
    sql: psycopg.Connection, add_files: AddFiles
) -> None:
    add_files("migrations", "tenant", {"9001_good": "CREATE TABLE tenant.good (id int);"})
    add_files("verbs", "tenant", {"zz_bad": "CREATE FUNCTION tenant.bad() RETURNS nonsense ..."})
    with pytest.raises(psycopg.errors.SyntaxError):
        schema.migrate(sql)
    assert ask(sql, "SELECT to_regclass('tenure.good')") == [(None,)]


def test_a_further_tenant_that_fails_costs_the_others_nothing(
    sql: psycopg.Connection, add_files: AddFiles
) -> None:
    bad_for_one = "DO $$ BEGIN IF '{tenant}' = 'acme' THEN PERFORM 1 / 0; END IF; END $$;"
    add_files("migrations", "tenant", {"9001_bad_for_one": bad_for_one})
    schema.migrate(sql, UMBRELLA)
    with pytest.raises(psycopg.errors.DivisionByZero):
        schema.migrate(sql, ACME)
    assert schema.tenants(sql) == [DEFAULT, UMBRELLA]
    assert not is_there(sql, "tenure_acme")


def test_the_callers_transaction_keeps_its_settings_and_can_undo_it_all(
    empty: psycopg.Connection,
) -> None:
    settings = "SELECT current_setting('search_path'), current_setting('check_function_bodies')"
    before = ask(empty, settings)
    with empty.transaction(force_rollback=True):
        schema.migrate(empty)
        assert ask(empty, settings) == before
    assert not is_there(empty, "tenure")


# What is newer, and what is pending


@pytest.mark.parametrize("scope", ["", "default"])
def test_a_database_newer_than_the_code_is_refused(sql: psycopg.Connection, scope: str) -> None:
    sql.execute("INSERT INTO tenure.migration VALUES (%s, 99999, 'from_the_future')", (scope,))
    before = describe(sql, "tenure")
    for attempt in (schema.migrate, schema.pending):
        with pytest.raises(SchemaMismatch, match=r"has migration 99999 of .*; upgrade Tenure"):
            attempt(sql)
    with pytest.raises(psycopg.errors.RaiseException, match="newer than this version of Tenure"):
        sql.execute(schema.script(DEFAULT).encode())
    assert describe(sql, "tenure") == before


def test_pending_tells_the_plan_and_changes_nothing(
    empty: psycopg.Connection, add_files: AddFiles
) -> None:
    empty.execute("SET default_transaction_read_only = on")
    assert [plan.scope for plan in schema.pending(empty, ACME)] == ["", "default", "acme"]
    assert not any(plan.is_empty for plan in schema.pending(empty, ACME))
    assert not is_there(empty, "tenure")
    empty.execute("SET default_transaction_read_only = off")
    schema.migrate(empty)
    empty.execute("SET default_transaction_read_only = on")
    add_files("migrations", "tenant", {"9001_more": "SELECT 1;"})
    control, tenant = schema.pending(empty)
    assert control.is_empty
    assert [migration.name for migration in tenant.migrations] == ["more"]
    assert not tenant.verbs


def test_a_changed_verb_is_installed_again_and_keeps_who_may_call_it(
    sql: psycopg.Connection, store: Store, add_files: AddFiles
) -> None:
    role = f"producer_of_{sql.info.dbname}"
    sql.execute(f"CREATE ROLE {role} LOGIN".encode())
    store.admit(role, "producer")
    more = "CREATE FUNCTION tenant.more() RETURNS int RETURN 1;"
    add_files("verbs", "tenant", {"more": more})
    control, tenant = schema.migrate(sql)
    assert control.is_empty
    assert tenant.verbs
    assert not tenant.migrations
    assert ask(sql, "SELECT tenure.more()") == [(1,)]
    url = f"postgresql://{role}@/{sql.info.dbname}?host={sql.info.host}"
    with Store(url) as producer:
        make_job(producer)
        with pytest.raises(NotAllowed):
            producer.claim(make_worker(store).id, 1)
    assert executable_by_everybody(sql) == []


OLD_STOP = """
CREATE FUNCTION tenure.stop(job bigint, intent text DEFAULT 'cancel', reason text DEFAULT NULL,
    force boolean DEFAULT false, "cascade" boolean DEFAULT true, grace interval DEFAULT NULL,
    last_rung tenure.rung DEFAULT 'killed', by text DEFAULT NULL, via text DEFAULT 'sql')
RETURNS json LANGUAGE sql RETURN '{}'::json;
CREATE FUNCTION tenure.show(job bigint) RETURNS json LANGUAGE sql RETURN '{}'::json;
CREATE FUNCTION tenure.readmit() RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
"""


def test_an_upgrade_replaces_a_verb_with_other_arguments_and_gives_roles_what_is_new(
    empty: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator, revoked = (f"{name}_of_{empty.info.dbname}" for name in ("operator", "revoked"))
    migrations, verbs = schema.migrations, schema.verbs
    with monkeypatch.context() as old:
        old.setattr(schema, "migrations", lambda kind: migrations(kind)[:1])
        old.setattr(schema, "verbs", lambda kind: verbs(kind) if kind == "control" else OLD_STOP)
        schema.migrate(empty)
    for role in (operator, revoked):
        empty.execute(f"CREATE ROLE {role}".encode())
        empty.execute(
            "INSERT INTO tenure.audit (at, actor, via, verb, subject, name, after)"
            " VALUES (now(), 'x', 'sql', 'admit', 'role', %s, '{\"kind\": \"operator\"}')",
            (role,),
        )
    empty.execute(f"GRANT EXECUTE ON FUNCTION tenure.show(bigint) TO {operator}".encode())

    schema.migrate(empty)

    try:
        may = """
            SELECT p.oid::regprocedure::text FROM pg_proc AS p
            WHERE p.proname IN ('stop', 'workers', 'show')
              AND has_function_privilege(%s, p.oid, 'EXECUTE')
              AND p.pronamespace = 'tenure'::regnamespace"""
        assert len(ask(empty, may, operator)) == 3
        assert ask(empty, may, revoked) == []
        stops = "SELECT count(*) FROM pg_proc WHERE proname = 'stop'"
        assert ask(empty, stops) == [(1,)]
    finally:
        for role in (operator, revoked):
            empty.execute(f"DROP OWNED BY {role}".encode())
            empty.execute(f"DROP ROLE {role}".encode())


# Many tenants


def test_a_further_tenants_schema_is_the_default_tenants(sql: psycopg.Connection) -> None:
    schema.migrate(sql, ACME)
    theirs = set(describe(sql, "tenure_acme").replace("tenure_acme.", "tenure.").splitlines())
    ours = set(describe(sql, "tenure").splitlines())
    shared = {line for line in ours - theirs if " job" in line}
    assert theirs <= ours
    assert shared == {line for line in shared if "signal" in line}


def test_the_first_tenant_needs_the_default_one_and_makes_it(
    empty: psycopg.Connection, empty_database: str
) -> None:
    assert schema.tenants(empty) == []
    schema.migrate(empty, ACME)
    assert schema.tenants(empty) == [ACME, DEFAULT]
    with Store(empty_database, ACME) as acme:
        worker = make_worker(acme)
        acme.drain(worker.id)
        assert acme.renew(worker.id).draining


def test_tenants_know_nothing_of_each_other_and_are_dropped_alone(
    sql: psycopg.Connection, database: str
) -> None:
    migrator = Migrator(database)
    for tenant in (ACME, UMBRELLA):
        migrator.migrate(tenant)
    assert migrator.tenants() == [ACME, DEFAULT, UMBRELLA]
    with Store(database, UMBRELLA) as umbrella, Store(database) as default:
        job = make_job(umbrella)
        migrator.drop(ACME)
        assert migrator.tenants() == [DEFAULT, UMBRELLA]
        assert umbrella.show(job).status == "queued"
        assert default.statistics().total == 0
    assert not is_there(sql, "tenure_acme")
    assert {scope for scope, *_ in done(sql)} == {"", "default", "umbrella"}
    with pytest.raises(SchemaMismatch), Store(database, ACME) as acme:
        acme.statistics()
    migrator.migrate(ACME)
    with Store(database, ACME) as acme:
        assert acme.statistics().total == 0


def test_the_default_tenant_is_dropped_neither_by_hand_nor_before_the_others(
    sql: psycopg.Connection, database: str
) -> None:
    Migrator(database).migrate(ACME)
    with pytest.raises(InputRefused, match="the default tenant cannot be dropped"):
        Migrator(database).drop(DEFAULT)
    with pytest.raises(psycopg.Error, match="there are further tenants"):
        schema.drop(sql, DEFAULT)
    schema.drop(sql, ACME)
    schema.drop(sql, DEFAULT)
    assert not is_there(sql, "tenure")


def test_a_server_that_cannot_be_reached_is_told_in_a_sentence() -> None:
    with pytest.raises(StoreUnavailable, match=r"^the database cannot be reached: [^\n]*$"):
        Migrator("postgresql:///tenure?host=/nowhere").tenants()


# The same as SQL


def test_the_script_is_one_statement_that_takes_any_driver_to_head(
    empty: psycopg.Connection, empty_database: str, sql: psycopg.Connection
) -> None:
    async def run_twice() -> None:
        connection = await asyncpg.connect(empty_database)
        for _ in range(2):
            await connection.fetch(schema.script(ACME))
        await connection.close()

    asyncio.run(run_twice())
    assert describe(empty, "tenure") == describe(sql, "tenure")
    assert all(plan.is_empty for plan in schema.pending(empty, ACME))


# Live jobs in a schema that is upgraded

SHADE = """
ALTER TABLE tenant.job ADD COLUMN shade text NOT NULL DEFAULT 'grey';
CREATE INDEX job_shade ON tenant.job (shade) WHERE state = 'running';
"""
NOTES = """
CREATE TABLE tenant.notes (job_id bigint PRIMARY KEY, note text NOT NULL);
INSERT INTO tenant.notes SELECT j.id, j.shade FROM tenant.job AS j;
ALTER TABLE tenant.payload ADD COLUMN noted boolean NOT NULL DEFAULT true;
"""


def test_live_jobs_go_on_after_an_upgrade(
    sql: psycopg.Connection, store: Store, add_files: AddFiles
) -> None:
    worker = make_worker(store, timedelta(hours=1))
    ids = make_jobs(
        store,
        [
            NewJob(key="running", task="work", priority=9),
            NewJob(key="stopping", task="work", priority=8),
            NewJob(key="holder", task="work", priority=7, target="site"),
            NewJob(key="next", task="work", priority=6, target="site"),
            NewJob(key="pending", task="work", priority=5),
            NewJob(key="later", task="work", delay=timedelta(hours=1)),
            NewJob(key="after", task="work", after=["running"]),
        ],
    )
    running, stopping, holder = worker.claim(3)
    assert [running.id, stopping.id, holder.id] == [ids["running"], ids["stopping"], ids["holder"]]
    store.stop(stopping.id, reason="before the upgrade")

    add_files("migrations", "tenant", {"9001_shade": SHADE, "9002_notes": NOTES})
    zone = "ALTER TABLE tenure.worker ADD COLUMN zone text;"
    add_files("migrations", "control", {"9001_zone": zone})
    control, tenant = schema.migrate(sql)
    assert [migration.number for migration in control.migrations] == [9001]
    assert [migration.number for migration in tenant.migrations] == [9001, 9002]
    assert ask(sql, "SELECT DISTINCT note FROM tenure.notes") == [("grey",)]

    renewal = store.renew(worker.id)
    assert renewal.alive
    assert [signal.job_id for signal in renewal.signals] == [stopping.id]
    store.report(worker.id, [Report(job=running.id, token=running.token, partials=["kept"])])
    finished = store.finish(
        worker.id,
        [
            ending(running, value={"answer": 42}),
            ending(stopping, "stopped", heard=True),
            ending(holder),
        ],
    )
    assert dict(finished.accepted) == {
        running.id: State.COMPLETED,
        stopping.id: State.CANCELLED,
        holder.id: State.COMPLETED,
    }
    promote(store)
    claimed = worker.claim(10)
    assert [job.id for job in claimed] == [ids["next"], ids["pending"], ids["after"]]
    store.stop(ids["later"], intent=Intent.PAUSE)
    assert store.resume(ids["later"]).status == "scheduled"
    assert store.show(running.id).result == {"answer": 42}
    [record] = [each for each in store.cancellations() if each.intent is Intent.CANCEL]
    assert record.status == "completed"
    make_job(store)


def test_a_verb_that_takes_other_arguments_is_dropped_by_a_migration_first(
    sql: psycopg.Connection, store: Store, add_files: AddFiles
) -> None:
    add_files(
        "migrations", "tenant", {"9001_wider_statistics": "DROP FUNCTION tenant.statistics();"}
    )
    wider = """
        CREATE OR REPLACE FUNCTION tenant.statistics(by text DEFAULT NULL) RETURNS json
        LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
        RETURN json_build_object('total', 7, 'by_status', '{}'::json, 'queues', '{}'::json,
            'refused', 0, 'recovered', 0);
    """
    add_files("verbs", "tenant", {"statistics": wider})
    schema.migrate(sql)
    assert store.statistics().total == 7


# Nothing is found by the search path

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
        store.pause("queue", "default")
        store.unpause("queue", "default")
        paused = make_job(store, task="paused")
        store.stop(paused, intent=Intent.PAUSE)
        store.resume(paused)
        for job in ids.values():
            store.show(job)
            store.explain(job)
        store.list_jobs({"queue": "default"})
        store.statistics()
        store.cancellations()
        store.trail()
        store.kept(one.id, "partials")
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


# What the catalog says

OURS = "('tenure'::regnamespace, 'tenure_acme'::regnamespace)"


@pytest.fixture
def catalog(sql: psycopg.Connection) -> psycopg.Connection:
    """A database with the default tenant and a further one."""
    schema.migrate(sql, ACME)
    return sql


def executable_by_everybody(connection: psycopg.Connection) -> list[tuple[object, ...]]:
    return ask(
        connection,
        """
        SELECT p.oid::regprocedure::text
        FROM pg_proc AS p
        CROSS JOIN aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS may
        WHERE p.pronamespace::regnamespace::text LIKE 'tenure%' AND may.grantee = 0
        """,
    )


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
