"""The programs on the page about transactions: rows and jobs are committed together."""

from pathlib import Path

import psycopg
import pytest

from tenure.store.store import Store
from tests.docs.reading import modules, write
from tests.docs.running import run
from tests.factories import make_job
from tests.workers import ROOT, eventually, running_worker

PAGE = ROOT / "docs" / "how-to" / "transactions.md"
PROGRAMS = [name for name in modules(PAGE) if name.startswith("with_")]


@pytest.fixture
def tables(sql: psycopg.Connection) -> None:
    sql.execute("CREATE TABLE IF NOT EXISTS orders (id serial PRIMARY KEY, item text)")
    sql.execute("CREATE TABLE IF NOT EXISTS bills (job bigint PRIMARY KEY)")
    sql.execute("TRUNCATE orders, bills")


@pytest.mark.fresh_database
def test_each_program_commits_a_row_and_its_job(
    tables: None, database: str, store: Store, sql: psycopg.Connection, tmp_path: Path
) -> None:
    write(PAGE, tmp_path)
    assert len(PROGRAMS) == 4
    for name in PROGRAMS:
        run(f"{name}.py", folder=tmp_path, TENURE_DATABASE_URL=database)
    orders = [row[0] for row in sql.execute("SELECT id FROM orders ORDER BY id")]
    jobs = [store.show(job.id).args["order"] for job in reversed(store.list_jobs())]
    assert (len(orders), jobs) == (4, orders)


@pytest.mark.fresh_database
def test_the_job_of_the_page_writes_its_row_once(
    tables: None, database: str, store: Store, sql: psycopg.Connection, tmp_path: Path
) -> None:
    write(PAGE, tmp_path)
    app, settings = f"{tmp_path / 'shipping.py'}:app", {"TENURE_DATABASE_URL": database}
    with running_worker(database, tmp_path, app=app, settings=settings) as worker:
        job = make_job(store, "shipping.bill", args={"order": 1})
        eventually(lambda: store.show(job).status == "completed", "it is billed")
        assert "runners are started by fork" in worker.log, "the import opened no connection"
    assert store.show(job).result is True
    assert sql.execute("SELECT array_agg(job) FROM bills").fetchone() == ([job],)
