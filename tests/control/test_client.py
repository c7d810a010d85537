"""The client: on a given database, or on an embedded one that it starts."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest

from tenure.app import Tenure
from tenure.auth import Principal, Role
from tenure.config import Settings
from tenure.control.client import Client
from tenure.domain.job import NewJob
from tenure.domain.lifecycle import State
from tenure.domain.tenant import Tenant
from tenure.errors import InputRefused, SchemaMismatch, SettingInvalid
from tenure.store.calls import control_calls, enqueue_calls
from tenure.store.embedded import binaries
from tenure.store.store import AsyncStore
from tests.factories import make_job, make_worker

WITHOUT_WHEEL = os.environ.get("TENURE_TEST_BINARIES") == "system"

PROCESS = """
import sys
{prelude}
from tenure import Tenure
from tenure.domain.job import NewJob
with Tenure() as app:
    [job] = app.store.enqueue(NewJob(task="work"))
    print(job.id, flush=True)
    sys.stdin.read()
    print(app.store.statistics().total, flush=True)
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    with TemporaryDirectory(prefix="tenure-test-") as place:
        yield Path(place) / "own"


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove settings from the environment; use the PostgreSQL of this test run."""
    for name in list(os.environ):
        if name.startswith("TENURE_") and not name.startswith("TENURE_TEST_"):
            monkeypatch.delenv(name)
    if WITHOUT_WHEEL:
        monkeypatch.setitem(sys.modules, binaries.WHEEL, None)


def is_stopped(folder: Path) -> bool:
    return not (folder / "data" / "postmaster.pid").exists()


def test_a_job_runs_to_completion_on_a_given_database(database: str) -> None:
    with Tenure(database) as app:
        job = make_job(app.store, args={"site": "example.org"})
        worker = make_worker(app.store)
        claimed = worker.claim_one()
        assert claimed.args == {"site": "example.org"}
        assert worker.finish(claimed, value=["a"]).accepted == {job: State.COMPLETED}
        assert app.store.show(job).result == ["a"]


def test_async_code_has_a_store_too(database: str) -> None:
    async def enqueue(app: Tenure) -> int:
        async with app.async_store() as store:
            [job] = await store.enqueue(NewJob(task="work"))
            return job.id

    with Tenure(database) as app:
        assert app.store.show(asyncio.run(enqueue(app))).status == "queued"


def test_the_url_is_read_from_the_environment(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENURE_DATABASE_URL", database)
    with Tenure() as app:
        assert app.url == database
        assert app.store.statistics().total == 0


def test_a_given_url_takes_precedence_over_the_url_in_the_settings(database: str) -> None:
    elsewhere = Settings(database_url="postgresql:///elsewhere?host=/nowhere")
    with Tenure(settings=elsewhere) as app:
        assert app.url == elsewhere.database_url
    with Tenure(database, settings=elsewhere) as app:
        assert app.store.statistics().total == 0


def test_a_given_database_is_migrated_only_when_asked(empty_database: str) -> None:
    with Tenure(empty_database) as app:
        with pytest.raises(SchemaMismatch, match="run: tenure migrate"):
            app.store.statistics()
        app.migrate()
        assert app.store.statistics().total == 0


def test_a_store_of_a_tenant_sees_that_tenant_alone(database: str) -> None:
    with Tenure(database) as app:
        app.migrate("acme")
        make_job(app.store_of("acme"))
        assert app.store_of("acme").statistics().total == 1
        assert app.store.statistics().total == 0
        with pytest.raises(InputRefused, match="cannot be the name of a tenant"):
            app.store_of("No Tenant")


def test_a_client_has_no_tasks_and_an_app_has_those_it_declares() -> None:
    assert Client().tasks == {}
    app = Tenure()

    @app.task(name="work")
    def work() -> None: ...

    assert app.tasks == {"work": work}
    assert Client().tasks == {}


def test_a_client_acts_in_the_name_of_a_principal(database: str) -> None:
    with Client(database) as client:
        client.migrate("acme")
        wile = Principal("wile", Role.OPERATOR, Tenant("acme"), via="rest")
        caller = client.acting_as(wile)
        [made] = caller.send(enqueue_calls.enqueue(NewJob(task="work")))
        assert client.store_of("acme").show(made.id).owner == "wile"
        caller.send(control_calls.stop(made.id))
        [row] = client.store_of("acme").audit_log("job", str(made.id))
        assert (row.actor, row.via) == ("wile", "rest")
        assert client.store.statistics().total == 0


def test_closing_closes_every_connection(database: str, sql: psycopg.Connection) -> None:
    def connections() -> object:
        query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'client'"
        return sql.execute(query).fetchone()

    with Tenure(f"{database}&application_name=client") as app:
        app.migrate("acme")
        app.store.statistics()
        app.store_of("acme").statistics()
        assert connections() == (1,)
    deadline = time.monotonic() + 20
    while connections() != (0,):  # the server sees it a moment later
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_without_a_url_a_database_of_its_own_is_started_migrated_and_stopped(
    folder: Path,
) -> None:
    with Tenure(settings=Settings(folder=folder)) as app:
        job = make_job(app.store)
        worker = make_worker(app.store)
        worker.finish(worker.claim_one())
        assert app.store.show(job).state is State.COMPLETED
        assert not is_stopped(folder)
    assert is_stopped(folder)
    with Tenure(settings=Settings(folder=folder)) as again:
        assert again.store.show(job).state is State.COMPLETED
    assert is_stopped(folder)


def test_creating_a_client_opens_no_connection_and_starts_no_database(folder: Path) -> None:
    app = Tenure(settings=Settings(folder=folder))
    assert not folder.exists()
    app.close()
    assert not folder.exists()
    Tenure("postgresql:///elsewhere?host=/nowhere").close()


def test_what_was_closed_is_opened_again_by_the_next_use(
    folder: Path,
) -> None:
    app = Tenure(settings=Settings(folder=folder))
    for _ in range(2):
        app.store.statistics()
        assert not is_stopped(folder)
        app.close()
        assert is_stopped(folder)


def test_threads_that_connect_at_the_same_time_share_one_store(database: str) -> None:
    with Tenure(database) as app, ThreadPoolExecutor(8) as threads:
        stores = set(threads.map(lambda _: app.store, range(32)))
        assert len(stores) == 1


def test_an_event_loop_has_one_open_store(database: str, folder: Path) -> None:
    async def use(app: Tenure) -> AsyncStore:
        async with app:
            stores = await asyncio.gather(*(app.astore_of() for _ in range(10)))
            assert len(set(stores)) == 1
            assert (await stores[0].statistics()).total == 0
            return stores[0]

    app = Tenure(database)
    assert asyncio.run(use(app)) is not asyncio.run(use(app))
    asyncio.run(use(Tenure(settings=Settings(folder=folder))))
    assert is_stopped(folder)


def test_two_processes_share_the_database_under_the_folder(folder: Path) -> None:
    script = PROCESS.format(
        prelude=f"sys.modules[{binaries.WHEEL!r}] = None" if WITHOUT_WHEEL else ""
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "TENURE_FOLDER": str(folder)},
        )
        for _ in range(2)
    ]
    jobs = set()
    for process in processes:
        assert process.stdout is not None
        jobs.add(process.stdout.readline())
    said = [process.communicate(timeout=60) for process in processes]
    assert said == [("2\n", "")] * 2
    assert jobs == {"1\n", "2\n"}
    assert is_stopped(folder)


def test_settings_that_contradict_one_another_are_refused_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TENURE_BEAT", "20s")
    with pytest.raises(SettingInvalid, match=r"^beat: 20s leaves no room"):
        Tenure()
