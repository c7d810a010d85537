"""The schema: how it comes into a database, and what it holds to."""

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Callable
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
from tests.factories import ending, make_job, make_jobs, make_worker, promote
from tests.store.catalog import ask, executable_by_everybody
from tests.store.describe import describe

pytestmark = pytest.mark.fresh_database

ACME, UMBRELLA = Tenant("acme"), Tenant("umbrella")
SNAPSHOT = Path(__file__).with_name("schema.txt")
UPDATE = "TENURE_TEST_UPDATE_SNAPSHOT"  # set it to 1 to rewrite the snapshot

AddFiles = Callable[[str, str, dict[str, str]], None]


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


def is_there(connection: psycopg.Connection, name: str) -> bool:
    return ask(connection, "SELECT to_regnamespace(%s) IS NOT NULL", name) == [(True,)]


def done(connection: psycopg.Connection) -> list[tuple[object, ...]]:
    return ask(connection, "SELECT scope, number, applied_at FROM tenure.migration ORDER BY 1, 2")


# From empty to head


@pytest.mark.parametrize("kind", ["control", "tenant"])
def test_migrations_are_numbered_from_one_without_gaps(kind: str) -> None:
    numbers = [migration.number for migration in schema.migrations(kind)]
    assert numbers == list(range(1, len(numbers) + 1))


def test_the_text_of_every_sql_file_is_easy_to_read() -> None:
    for file in sorted(Path(schema.__file__).parent.rglob("*.sql")):
        lines = file.read_text().splitlines()
        assert [line for line in lines if len(line) > 110] == [], file
        many = re.compile(r"\bINTO (STRICT )?\w+(, \w+){4}")
        assert [line for line in lines if many.search(line)] == [], f"{file}: use a record"


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
    with pytest.raises(psycopg.Error, match="newer than this version of Tenure") as refused:
        sql.execute(schema.script(DEFAULT).encode())
    assert refused.value.sqlstate == "TN007"
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
CREATE FUNCTION tenure.regrant_verbs() RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
"""
DROP_OLD_STOP = """
DROP FUNCTION tenant.stop(bigint, text, text, boolean, boolean, interval, tenure.rung, text, text);
"""


def test_an_upgrade_replaces_a_verb_with_other_arguments_and_gives_roles_what_is_new(
    empty: psycopg.Connection, monkeypatch: pytest.MonkeyPatch, add_files: AddFiles
) -> None:
    operator, revoked = (f"{name}_of_{empty.info.dbname}" for name in ("operator", "revoked"))
    verbs = schema.verbs
    with monkeypatch.context() as old:
        old.setattr(schema, "verbs", lambda kind: verbs(kind) if kind == "control" else OLD_STOP)
        schema.migrate(empty)
    for role in (operator, revoked):
        empty.execute(f"CREATE ROLE {role}".encode())
        empty.execute("INSERT INTO tenure.admission VALUES (%s, 'operator')", (role,))
    empty.execute(f"GRANT EXECUTE ON FUNCTION tenure.show(bigint) TO {operator}".encode())

    add_files("migrations", "tenant", {"9001_wider_stop": DROP_OLD_STOP})
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
