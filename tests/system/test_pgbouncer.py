"""Every kind of verb through PgBouncer in transaction mode: two backends, many clients."""

import asyncio
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import State
from tenure.errors import QueryTimeout
from tenure.store.calls import queries
from tenure.store.outcomes import Report
from tenure.store.serial_connection import SerialConnection
from tenure.store.store import AsyncStore, Store
from tests.factories import end_as_stopped, make_job, make_jobs, make_worker, promote

PGBOUNCER = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")

pytestmark = pytest.mark.skipif(
    PGBOUNCER is None, reason="there is no pgbouncer here: apt-get install pgbouncer"
)


@pytest.fixture
def pooled(database: str) -> Iterator[str]:
    """The URL of the same database behind a pooler that gives every transaction any backend."""
    address = urlsplit(database)
    behind = parse_qs(address.query)
    with tempfile.TemporaryDirectory(prefix="tenure-pool-") as name:
        folder = Path(name)
        (folder / "users").write_text('"postgres" ""\n')
        (folder / "ini").write_text(f"""
[databases]
{address.path[1:]} = host={behind["host"][0]} port={behind["port"][0]} user=postgres
[pgbouncer]
listen_port = 6543
unix_socket_dir = {folder}
auth_type = trust
auth_file = {folder / "users"}
pool_mode = transaction
default_pool_size = 2
max_client_conn = 100
logfile = {folder / "log"}
""")
        user = None
        if os.geteuid() == 0:  # which it refuses to be
            user = "nobody"
            for path in (folder, *folder.iterdir()):
                shutil.chown(path, user)
            socket = Path(behind["host"][0])
            for path in (socket, *socket.parents[:-2]):
                path.chmod(path.stat().st_mode | 0o011)
            (socket / f".s.PGSQL.{behind['port'][0]}").chmod(0o777)
        process = subprocess.Popen(
            [str(PGBOUNCER), "-q", str(folder / "ini")], user=user, stderr=subprocess.DEVNULL
        )
        url = f"postgresql://postgres@{address.path}?host={folder}&port=6543"
        try:
            _wait_for(url, folder / "log")
            yield url
        finally:
            process.terminate()
            process.wait()


def _wait_for(url: str, log: Path) -> None:
    end = time.monotonic() + 20
    while True:
        try:
            psycopg.connect(url, connect_timeout=3).close()
        except psycopg.OperationalError:
            if time.monotonic() > end:
                pytest.fail(log.read_text()[-1500:] if log.exists() else "pgbouncer did not start")
            time.sleep(0.05)
        else:
            return


def test_the_life_of_a_job_needs_no_session(pooled: str) -> None:
    with Store(pooled) as store:
        ids = make_jobs(
            store,
            [
                NewJob(key="root"),
                NewJob(key="a", task="work", parent="root", target="x"),
                NewJob(key="b", task="work", parent="root", after=["a"]),
            ],
        )
        worker = make_worker(store)
        for _ in range(20):
            job = worker.claim_one()
            store.renew(worker.id)
            store.report(worker.id, [Report(job=job.id, token=job.token, progress={"done": 1})])
            worker.release(job)
            promote(store)
        worker.finish(worker.claim_one())
        promote(store)
        job = worker.claim_one()
        assert job.id == ids["b"]
        store.stop(ids["root"])
        assert store.renew(worker.id).signals
        end_as_stopped(worker, job)
        promote(store)
        assert store.show(ids["root"]).state is State.CANCELLED
        assert store.cancellation(job=ids["root"]).success
        store.recover()


def test_many_clients_share_two_backends(pooled: str) -> None:
    async def one_client(store: AsyncStore, number: int) -> int:
        (job,) = await store.enqueue(NewJob(task="work", unique=str(number % 10)))
        await store.promote()
        return job.id

    async def all_clients() -> set[int]:
        async with AsyncStore(pooled) as store:
            return set(await asyncio.gather(*(one_client(store, n) for n in range(40))))

    assert len(asyncio.run(all_clients())) == 10, "a unique key holds across backends"
    with Store(pooled) as store:
        make_job(store)
        worker = make_worker(store)
        assert len(worker.claim(100)) == 11


def test_a_statement_sent_often_goes_to_any_backend(pooled: str) -> None:
    with Store(pooled) as store, psycopg.connect(pooled) as holder:
        for _ in range(7):
            make_job(store)
        [first] = store._pool._idle._idle
        pid = "SELECT pg_backend_pid()"
        before = first.cursor.execute(pid).fetchone()
        assert holder.execute(pid).fetchone() == before, "the backend that knows the statement"
        make_job(store)
        assert first.cursor.execute(pid).fetchone() != before


def test_a_keeper_prepares_nothing_for_other_backends(pooled: str) -> None:
    async def send() -> None:
        keeper = SerialConnection(pooled)
        call = queries.statistics()
        for _ in range(7):
            await keeper.send(call)
        with psycopg.connect(pooled) as holder:
            holder.execute("SELECT")  # keeps the backend that knows the statement
            await keeper.send(call)
        await keeper.close()

    asyncio.run(send())


def test_a_limit_of_one_call_stays_with_nobody(pooled: str, database: str) -> None:
    call = queries.audit_log().within(timedelta(milliseconds=200))
    with Store(pooled) as store, psycopg.connect(database) as holder:
        for _ in range(4):
            store.send(call)
        for _ in range(4):
            with store._pool.connection(store.tenant) as opened:
                assert opened.cursor.execute("SHOW statement_timeout").fetchone() == ("0",)
        holder.execute("LOCK TABLE tenure.audit IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(QueryTimeout):
            store.send(call)
