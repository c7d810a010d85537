"""An upgrade from an older version: rows stay, roles get exactly the verbs their kind has now."""

from collections.abc import Iterator

import psycopg
import pytest

from tenure.domain.lifecycle import State
from tenure.errors import NotAllowed
from tenure.store import schema
from tenure.store.schema import CONTROL
from tenure.store.store import Store

# A version whose verbs took other arguments, and which granted operators more than they have now.
OLD_VERBS = """
CREATE FUNCTION tenant.show(job bigint) RETURNS json LANGUAGE sql RETURN '{}'::json;
CREATE FUNCTION tenant.pause_dispatch(subject text, name text DEFAULT '', reason text DEFAULT NULL,
    by text DEFAULT NULL, via text DEFAULT 'sql') RETURNS json LANGUAGE sql RETURN '{}'::json;
CREATE FUNCTION tenant.recover(grace interval DEFAULT '0', orphan_after interval DEFAULT NULL,
    pending_after interval DEFAULT NULL, ids bigint[] DEFAULT NULL, dry_run boolean DEFAULT false,
    message text DEFAULT '', n integer DEFAULT 500) RETURNS json LANGUAGE sql RETURN '{}'::json;
CREATE FUNCTION tenant.regrant_verbs() RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
"""
OLD_ROWS = """
INSERT INTO tenure.lane (queue, task) VALUES ('default', 'work');
INSERT INTO tenure.job (root_id, lane, max_attempts, created_at, run_at, ready)
    VALUES (1, 1, 4, now(), now(), true);
INSERT INTO tenure.payload (job_id, args, owner) VALUES (1, '{"a": 1}', 'ann');
INSERT INTO tenure.cancellation (job_id, root_id, intent, reason, initiated_by, initiated_at, force,
    "cascade", last_rung, status, completed_at)
    VALUES (9, 9, 'cancel', 'why', 'ann', now(), false, true, 'killed', 'completed', now());
INSERT INTO tenure.step (stop_id, place, name) VALUES (1, 1, 'stop_assignment');
"""
# The migration of the new version: it drops what the new verbs replace, and changes the rows.
NEW_ARGUMENTS = """
DROP FUNCTION tenant.pause_dispatch(text, text, text, text, text);
DROP FUNCTION tenant.recover(interval, interval, interval, bigint[], boolean, text, integer);
UPDATE tenant.cancellation SET rollback_jobs = '{2}';
"""


@pytest.fixture
def owner(empty_database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[psycopg.Connection]:
    """Connect as the owner to a database of the old version; the code is of the new version."""
    files = schema._files

    def with_one_more(folder: str, kind: str) -> Iterator[tuple[str, str]]:
        yield from files(folder, kind)
        if (folder, kind) == ("migrations", "tenant"):
            yield "9001_new_arguments", NEW_ARGUMENTS

    with psycopg.connect(empty_database, autocommit=True) as connection:
        with monkeypatch.context() as old:
            old.setattr(schema, "verbs", lambda kind: "" if kind == CONTROL else OLD_VERBS)
            schema.migrate(connection)
        connection.execute(OLD_ROWS)
        monkeypatch.setattr(schema, "_files", with_one_more)
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


def test_operators_keep_what_is_their_own_and_lose_what_is_an_admins(
    owner: psycopg.Connection, operator: str
) -> None:
    schema.migrate(owner)
    with Store(operator) as caller:
        for refused in (lambda: caller.pause_dispatch("queue", "slow"), caller.recover):
            with pytest.raises(NotAllowed, match="the database role may not do this"):
                refused()
        with pytest.raises(NotAllowed, match="job 1 belongs to ann"):
            caller.stop(1)
        assert caller.strategies()
