"""Refusals on record: the first have a row each, and the rest are counted in one."""

from concurrent.futures import ThreadPoolExecutor

import psycopg

from tenure.domain.principal import Principal, Role
from tenure.store.calls import control_calls
from tenure.store.results import AuditRow
from tenure.store.store import Store
from tests.factories import make_job

MOST = 100
STOP = "SELECT tenure.stop(%s, role => 'viewer', by => %s)"


def refuse(database: str, job: int, times: int, by: str = "vic") -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        for _ in range(times):
            connection.execute(STOP, (job, by))


def refusals(store: Store, actor: str = "vic") -> list[AuditRow]:
    return [row for row in store.audit_log(n=1000) if (row.verb, row.actor) == ("refuse", actor)]


def counted(row: AuditRow) -> int:
    assert row.after is not None
    return int(row.after["count"])


def test_the_first_refusals_have_a_row_each(store: Store, database: str) -> None:
    job = make_job(store)
    refuse(database, job, MOST)
    rows = refusals(store)
    assert len(rows) == MOST
    assert {(row.subject, row.name) for row in rows} == {("job", str(job))}


def test_what_comes_after_them_is_counted_in_one_row(store: Store, database: str) -> None:
    refuse(database, make_job(store), MOST + 50)
    newest, *rest = refusals(store)
    assert len(rest) == MOST
    assert counted(newest) == 50
    assert newest.after is not None
    assert newest.after["verb"] == "cancel"
    assert newest.reason is not None
    assert newest.reason.startswith("vic was refused 100 times within an hour")


def test_no_refusal_is_missed_when_many_ask_at_once(store: Store, database: str) -> None:
    job = make_job(store)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: refuse(database, job, 25), range(8)))
    newest, *rest = refusals(store)
    assert (len(rest), counted(newest)) == (MOST, 8 * 25 - MOST)


def test_everybody_is_counted_apart(store: Store, database: str) -> None:
    job = make_job(store)
    refuse(database, job, MOST + 1)
    refuse(database, job, 1, by="wendy")
    [row] = refusals(store, "wendy")
    assert row.name == str(job)


def test_each_hour_is_counted_separately(store: Store, database: str) -> None:
    job = make_job(store)
    refuse(database, job, MOST + 7)
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute("UPDATE tenure.refusal SET since = since - interval '61 minutes'")
    refuse(database, job, MOST + 5)
    rows = refusals(store)
    assert len(rows) == 2 * (MOST + 1)
    assert [counted(row) for row in rows if row.subject == "tenant"] == [5, 7]


def test_whoever_is_refused_before_a_verb_is_called_is_counted_too(store: Store) -> None:
    call = control_calls.refuse("stop", "no").asked_by(Principal("ada", Role.VIEWER))
    for _ in range(MOST + 3):
        store.send(call)
    newest, *rest = refusals(store, "ada")
    assert (len(rest), counted(newest)) == (MOST, 3)
