"""From before there were principals: what is there stays, roles get what their kind may now."""

from collections.abc import Iterator

import psycopg
import pytest

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import State
from tenure.errors import NotAllowed
from tenure.store import schema
from tenure.store.schema import CONTROL
from tenure.store.store import Store

OLD_VERBS = """
CREATE FUNCTION tenant.show(job bigint) RETURNS json LANGUAGE sql RETURN '{}'::json;
CREATE FUNCTION tenant.pause(subject text, name text DEFAULT '', reason text DEFAULT NULL,
    by text DEFAULT NULL, via text DEFAULT 'sql') RETURNS json LANGUAGE sql RETURN '{}'::json;
CREATE FUNCTION tenant.recover(grace interval DEFAULT '0', orphan_after interval DEFAULT NULL,
    pending_after interval DEFAULT NULL, ids bigint[] DEFAULT NULL, dry_run boolean DEFAULT false,
    message text DEFAULT '', n integer DEFAULT 500) RETURNS json LANGUAGE sql RETURN '{}'::json;
CREATE FUNCTION tenant.readmit() RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
"""
OLD_ROWS = """
INSERT INTO tenure.lane (queue, task) VALUES ('default', 'work');
INSERT INTO tenure.job (root_id, lane, max_attempts, created_at, run_at, ready)
    VALUES (1, 1, 4, now(), now(), true);
INSERT INTO tenure.payload (job_id, args, owner) VALUES (1, '{"a": 1}', 'ann');
INSERT INTO tenure.cancellation (job_id, root_id, intent, reason, initiated_by, initiated_at, force,
    "cascade", last_rung, status, completed_at)
    VALUES (9, 9, 'cancel', 'why', 'ann', now(), false, true, 'killed', 'completed', now());
INSERT INTO tenure.lane (queue, task) VALUES ('default', 'tenure.rollback');
INSERT INTO tenure.job (root_id, lane, max_attempts, created_at, run_at, ready)
    VALUES (2, 2, 1, now(), now(), true);
INSERT INTO tenure.payload (job_id, args, owner)
    VALUES (2, '{"cancellation": "cancel-000001"}', 'ann');
INSERT INTO tenure.step (stop_id, place, name) VALUES (1, 1, 'stop_assignment');
"""


@pytest.fixture
def owner(empty_database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[psycopg.Connection]:
    """The owner's connection to a database as it was."""
    migrations, known = schema.migrations, {CONTROL: 1, "tenant": 2}
    with psycopg.connect(empty_database, autocommit=True) as connection:
        with monkeypatch.context() as old:
            old.setattr(schema, "migrations", lambda kind: migrations(kind)[: known[kind]])
            old.setattr(schema, "verbs", lambda kind: "" if kind == CONTROL else OLD_VERBS)
            schema.migrate(connection)
        connection.execute(OLD_ROWS)
        yield connection


@pytest.fixture
def operator(owner: psycopg.Connection, empty_database: str) -> Iterator[str]:
    """The URL of a role that was admitted when operators controlled everything."""
    name = f"operator_of_{owner.info.dbname}"
    owner.execute(f"CREATE ROLE {name} LOGIN".encode())
    owner.execute("INSERT INTO tenure.admission VALUES (%s, 'operator')", (name,))
    owner.execute(f"GRANT USAGE ON SCHEMA tenure TO {name}".encode())
    owner.execute(f"GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA tenure TO {name}".encode())
    yield empty_database.replace("//postgres@", f"//{name}@")
    owner.execute(f"DROP OWNED BY {name}".encode())
    owner.execute(f"DROP ROLE {name}".encode())


def test_jobs_and_records_stay(owner: psycopg.Connection, empty_database: str) -> None:
    schema.migrate(owner)
    with Store(empty_database) as store:
        (record,) = store.cancellations()
        assert (record.reason, record.preserve, record.strategy) == ("why", None, None)
        assert record.rollback_jobs == (2,)
        assert store.show(1).owner == "ann"
        assert [s.name for s in store.strategies()] == [
            "cooperative",
            "graceful",
            "immediate",
            "patient",
        ]
        assert store.stop(1, strategy="immediate").job_became is State.CANCELLED


OLD_KEYS = """
INSERT INTO tenure.job (root_id, parent_id, lane, max_attempts, created_at, run_at, ready, state,
    worker_id, unique_key, idempotency_key)
SELECT 3, parent, 1, 4, now(), now(), true, 'pending', NULL, single, once FROM (VALUES
    (NULL::bigint, 'site a', 'order 7'), (1, NULL, 'spawn:1:1:child'),
    (NULL, NULL, 'spawn:1:2:fake'), (NULL, 'schedule:nightly', 'schedule:nightly:2030'),
    (NULL, 'schedule:nightly ', 'schedule:x:1'),
    (2, NULL, 'tenure.undo 9'), (NULL, NULL, 'tenure.undo 8'), (NULL, NULL, 'cleanup:1:2:t:3'))
    AS k(parent, single, once);
INSERT INTO tenure.payload (job_id, args, owner)
SELECT id, '{}', CASE unique_key WHEN 'schedule:nightly' THEN unique_key ELSE 'ann' END
FROM tenure.job WHERE id > 2;
"""


def test_keys_become_those_of_their_owners_and_tenures_stay_its_own(
    owner: psycopg.Connection, empty_database: str
) -> None:
    owner.execute(OLD_KEYS)
    schema.migrate(owner)
    kept = owner.execute(
        "SELECT unique_key, idempotency_key FROM tenure.job WHERE id > 2 ORDER BY id"
    ).fetchall()
    assert kept == [
        ("3:ann:site a", "3:ann:order 7"),
        (None, "tenure:spawn:1:1:child"),
        (None, "3:ann:spawn:1:2:fake"),
        ("tenure:schedule:nightly", "tenure:schedule:nightly:2030"),
        ("3:ann:schedule:nightly ", "3:ann:schedule:x:1"),
        (None, "tenure:undo:9"),
        (None, "3:ann:tenure.undo 8"),
        (None, "tenure:cleanup:1:2:t:3"),
    ]
    with Store(empty_database) as store:
        (again,) = store.enqueue(NewJob(task="work", owner="ann", idempotency="order 7"))
        assert (again.id, again.created) == (3, False)


def test_operators_keep_what_is_their_own_and_lose_what_is_an_admins(
    owner: psycopg.Connection, operator: str
) -> None:
    schema.migrate(owner)
    with Store(operator) as caller:
        for refused in (lambda: caller.pause("queue", "slow"), caller.recover):
            with pytest.raises(NotAllowed, match="the database role may not do this"):
                refused()
        with pytest.raises(NotAllowed, match="job 1 belongs to ann"):
            caller.stop(1)
        assert caller.strategies()
