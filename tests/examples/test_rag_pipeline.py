"""The pipeline finds the right page, and survives being stopped and killed at every step."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from examples.rag_pipeline import index, pipeline

from tenure.control.handle import Handle
from tenure.store.store import Store
from tests.examples.conftest import pointed_at
from tests.examples.gates import Site
from tests.workers import Watcher, eventually

APP = "examples.rag_pipeline.pipeline:app"
MODEL = {"RAG_MODEL": "tests.examples.gates:GatedModel"}
PAGES = 6


@pytest.fixture
def site() -> Iterator[Site]:
    with Site(Path(pipeline.__file__).parent / "site") as site:
        yield site


@pytest.fixture(autouse=True)
def _app(database: str) -> Iterator[None]:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS rag CASCADE")
    index.prepare(database)
    with pointed_at(pipeline.app, database):
        yield


def test_a_question_finds_the_page_that_answers_it(worker_of: Any, site: Site) -> None:
    with worker_of(APP):
        counts = pipeline.build.enqueue(site.url).result(timeout="60s")
    assert counts["pages"] == PAGES
    assert counts["chunks"] == counts["embedded"] == counts["upserted"] > PAGES
    found = {
        "when is high water at spring tide?": "tides.html",
        "how heavy a load can the gantry cranes lift?": "cranes.html",
        "which ships take a pilot on board?": "pilots.html",
        "a recipe for fish soup with fennel": "recipes/soup.html",
    }
    for question, page in found.items():
        assert pipeline.search(question)[0] == site.url + page


@pytest.mark.parametrize("step", ["crawl", "chunk", "embed", "upsert"])
@pytest.mark.parametrize("intent", ["pause", "cancel"])
def test_a_stop_at_any_step_leaves_a_consistent_index(
    worker_of: Any,
    site: Site,
    store: Store,
    sql: psycopg.Connection,
    tmp_path: Path,
    step: str,
    intent: str,
) -> None:
    with worker_of(APP, **MODEL):
        job = pipeline.build.enqueue(site.url)
        release = _hold(step, job, site, store, sql, tmp_path)
        record = getattr(job, intent)(reason="not now")
        release()
        Watcher(store).record_ends(record.cancellation_id)
        assert _inconsistent(sql) == []
        if intent == "pause":
            assert job.status() == "paused"
            job.resume()
        else:
            assert job.status() == "cancelled"
            job = pipeline.build.enqueue(site.url)
        counts = job.result(timeout="60s")
    assert _inconsistent(sql) == []
    assert counts["pages"] == PAGES
    assert pipeline.search("when is high water at spring tide?")[0] == f"{site.url}tides.html"
    if intent == "pause":  # a resumed job fetches again only the page it was stopped at
        again = Counter(site.asked)
        assert all(n == 1 for path, n in again.items() if path != site.held), again


def test_a_worker_killed_while_embedding_loses_nothing_and_embeds_nothing_twice(
    worker_of: Any, site: Site, sql: psycopg.Connection, tmp_path: Path
) -> None:
    (tmp_path / "hold-embedding").write_text("1")
    with worker_of(APP, **MODEL) as worker:
        job = pipeline.build.enqueue(site.url)
        eventually(lambda: _count(sql, "staged"), "a batch is staged", 60)
        # The worker is waiting before the second batch, or about to.
        for process in worker.tree:
            process.kill()
    staged = {
        body
        for (body,) in sql.execute(
            "SELECT c.body FROM rag.chunk AS c JOIN rag.staged USING (digest)"
        )
    }
    before = (tmp_path / "embedded").read_text().splitlines()
    (tmp_path / "hold-embedding").unlink()
    with worker_of(APP, **MODEL):
        counts = job.result(timeout="60s")
    again = (tmp_path / "embedded").read_text().splitlines()[len(before) :]
    assert not staged.intersection(again)
    assert _inconsistent(sql) == []
    assert _count(sql, "entry") == _count(sql, "chunk") == counts["chunks"]


def _hold(
    step: str,
    job: Handle[Any],
    site: Site,
    store: Store,
    sql: psycopg.Connection,
    folder: Path,
) -> Callable[[], object]:
    """Bring the pipeline to this step and hold it there; return a function that releases it."""
    if step == "crawl":
        site.hold("/cranes.html")
        eventually(site.arrived.is_set, "the crawl is at its third page", 60)
        return site.let_go
    if step == "embed":
        gate = folder / "hold-embedding"
        gate.touch()
        eventually((folder / "embedded").exists, "something is being embedded", 60)
        return gate.unlink
    # Take a lock that the step's transaction needs.
    blocker = psycopg.connect(sql.info.dsn, password=sql.info.password)
    table = {"chunk": "rag.chunk", "upsert": "rag.entry"}[step]
    blocker.execute(f"LOCK TABLE {table} IN SHARE MODE".encode())
    waiting = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query ~ %s"
    eventually(lambda: sql.execute(waiting, (table,)).fetchall(), f"{step} waits for {table}", 60)
    return blocker.close


def _inconsistent(sql: psycopg.Connection) -> list[Any]:
    """Return entries without their chunk, and pages that are only partly split."""
    return [
        *sql.execute(
            "SELECT e.url FROM rag.entry AS e LEFT JOIN rag.chunk AS c USING (digest)"
            " WHERE c.digest IS NULL OR c.body <> e.body OR cardinality(e.vector) <> 512"
        ),
        *sql.execute("SELECT url FROM rag.chunk GROUP BY url HAVING max(place) + 1 <> count(*)"),
    ]


def _count(sql: psycopg.Connection, table: str) -> int:
    [n] = sql.execute(f"SELECT count(*) FROM rag.{table}".encode()).fetchone() or (0,)
    return int(n)
