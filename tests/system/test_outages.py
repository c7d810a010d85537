"""A database that is stopped, cut off or silent: jobs continue, run once, and nothing is lost."""

import random
import selectors
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from tenure.domain.tenant import DEFAULT
from tenure.store import schema
from tenure.store.embedded import Embedded
from tenure.store.store import Store
from tests.apps import dying
from tests.conftest import chosen_binaries
from tests.system.scene import LONG, Scene, runner_of, state_of
from tests.workers import eventually


@pytest.fixture
def scene(database: str, store: Store, tmp_path: Path) -> Scene:
    return Scene(database, store, tmp_path)


# A server that is stopped in immediate mode


@pytest.fixture
def own_server() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="tenure-test-") as folder:
        yield Path(folder) / "pg"


def stop_at_once(folder: Path) -> None:
    """Stop the server in the immediate mode of pg_ctl, without a checkpoint."""
    postmaster = psutil.Process(int((folder / "data/postmaster.pid").read_text().split()[0]))
    postmaster.send_signal(signal.SIGQUIT)
    eventually(lambda: not postmaster.is_running(), "the server is gone")


def test_jobs_outlive_an_outage_longer_than_their_lease(own_server: Path, tmp_path: Path) -> None:
    with Embedded.open(own_server, chosen_binaries()) as server, Store(server.url) as store:
        with psycopg.connect(server.url, autocommit=True) as connection:
            schema.migrate(connection, DEFAULT)
        scene = Scene(server.url, store, tmp_path)
        # Polls are so rare that only a live LISTEN can explain a prompt start.
        with scene.worker(TENURE_POLL="1h") as worker:
            before = scene.only_worker()
            ends = scene.start(dying.lasts.new_job(1.0))
            jobs = [
                scene.start(dying.waits.new_job()),
                scene.start(dying.waits_in_a_process.new_job()),
            ]
            runners = [runner_of(worker, scene.runs(job)[0]) for job in jobs]
            stop_at_once(own_server)
            stopped_at = time.monotonic()
            eventually((scene.folder / f"lasted-{ends}").exists, "a job ends meanwhile")
            eventually(lambda: {state_of(one) for one in runners} == {"T"}, "trust ends")
            eventually(lambda: time.monotonic() > stopped_at + 4, "its lease is over too")
            assert "; jobs continue for " in worker.log, "the beat that failed is logged"
            with Embedded.open(own_server, chosen_binaries()):
                worker.says("the database is back; jobs continue", within=30)
                assert scene.completes(ends)[0].result == 1
                scene.let_go(*jobs)
                done = scene.completes(*jobs)
                assert [(job.result, job.crashes) for job in done] == [(1, 0)] * 2
                assert [len(scene.runs(job)) for job in (ends, *jobs)] == [1, 1, 1]
                assert scene.store.statistics().recovered == 0
                assert scene.only_worker() == before
                for _ in range(3):
                    scene.completes(scene.enqueue(dying.quick.new_job()), within=15)
                assert worker.drain() == 0


# Connections that break


def test_every_job_completes_once_while_connections_are_cut_again_and_again(
    scene: Scene, sql: psycopg.Connection
) -> None:
    url = f"{scene.url}&application_name=to-be-cut"
    cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s"
    jobs = [scene.enqueue(dying.lasts.new_job(0.1)) for _ in range(300)]
    with scene.worker("--concurrency", "10", url=url, **LONG) as worker:

        def completed() -> int:
            return scene.store.statistics().by_status.get("completed", 0)

        cuts = before = 0
        while before < len(jobs) or cuts < 50:
            cuts += len(sql.execute(cut, ("to-be-cut",)).fetchall())
            if cuts < 50:
                jobs.append(scene.enqueue(dying.lasts.new_job(0.1)))
            eventually(lambda before=before: completed() > before, "something gets done")  # type: ignore[misc]
            time.sleep(random.uniform(0, 0.15))  # so that each cut hits another point in time
            before = completed()
        done = [scene.store.show(job) for job in jobs]
        assert {(job.result, job.attempt, job.crashes) for job in done} == {(1, 1, 0)}
        assert {len(scene.runs(job)) for job in jobs} == {1}
        assert scene.store.statistics().recovered == 0
        assert worker.drain() == 0


class Proxy:
    """A proxy between a worker and its server that can cut connections or go silent."""

    def __init__(self, url: str) -> None:
        told = conninfo_to_dict(url)
        self._server = f"{told['host']}/.s.PGSQL.{told['port']}"
        self._door = socket.create_server(("127.0.0.1", 0))
        self.url = f"postgresql://postgres@127.0.0.1:{self._door.getsockname()[1]}/{told['dbname']}"
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._door, selectors.EVENT_READ)
        self._other: dict[socket.socket, socket.socket] = {}
        self._silent: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._mark = b""
        self._is_open = True
        self.cuts = 0
        self._thread = threading.Thread(target=self._carry)
        self._thread.start()

    def cut_instead_of_an_answer_with(self, mark: str) -> None:
        """Cut the connection at this answer: the server has committed, the worker cannot know."""
        self._mark = mark.encode()

    def fall_silent(self) -> int:
        """Keep open connections open but forward nothing on them; new ones work as usual."""
        with self._lock:
            self._silent |= set(self._other)
            return len(self._silent) // 2

    def close(self) -> None:
        self._is_open = False
        self._thread.join(20)
        for each in (self._door, *self._other):
            each.close()
        self._selector.close()

    def _carry(self) -> None:
        while self._is_open:
            for key, _ in self._selector.select(0.05):
                if key.fileobj is self._door:
                    self._welcome()
                else:
                    with self._lock:
                        self._pass_on(key.fileobj)

    def _welcome(self) -> None:
        client, _ = self._door.accept()
        server = socket.socket(socket.AF_UNIX)
        server.connect(self._server)
        with self._lock:
            self._other |= {client: server, server: client}
        for end in (client, server):
            self._selector.register(end, selectors.EVENT_READ)

    def _pass_on(self, end: object) -> None:
        assert isinstance(end, socket.socket)
        if end in self._silent:
            self._selector.unregister(end)
            return
        said = b""
        with suppress(OSError):
            said = end.recv(1 << 20)
        if self._mark and end.family is socket.AF_UNIX and self._mark in said:
            self._mark, said = b"", b""
            self.cuts += 1
        try:
            if said:
                self._other[end].sendall(said)
        except OSError:
            said = b""
        if not said:
            for each in (end, self._other[end]):
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
                self._selector.unregister(end) if each is end else None


@pytest.fixture
def proxy(scene: Scene) -> Iterator[Proxy]:
    proxy = Proxy(scene.url)
    yield proxy
    proxy.close()


def test_a_job_claimed_by_a_call_whose_answer_was_lost_is_given_back(
    scene: Scene, proxy: Proxy
) -> None:
    with scene.worker(url=proxy.url, **LONG) as worker:
        scene.completes(scene.enqueue(dying.quick.new_job()))
        proxy.cut_instead_of_an_answer_with("tests.apps.dying.lasts")
        [done] = scene.completes(scene.enqueue(dying.lasts.new_job(0)))
        assert proxy.cuts == 1
        assert worker.says("claimed in a call that was lost: given back")
        assert (done.result, done.attempt, done.crashes) == (1, 1, 0)
        assert scene.outcomes(done.id) == [], "an attempt that never began is not on record"
        assert len(scene.runs(done.id)) == 1
        assert worker.drain() == 0


def test_an_end_that_was_recorded_by_a_call_whose_answer_was_lost_counts_once(
    scene: Scene, proxy: Proxy
) -> None:
    with scene.worker(url=proxy.url, **LONG) as worker:
        job = scene.start(dying.waits.new_job())
        proxy.cut_instead_of_an_answer_with('"completed"')
        scene.let_go(job)
        scene.completes(job)
        eventually(lambda: proxy.cuts, "the answer is lost")
        scene.completes(scene.enqueue(dying.quick.new_job()))
        assert len(scene.runs(job)) == 1
        assert worker.drain() == 0


def test_connections_that_fall_silent_are_given_up_in_time(scene: Scene, proxy: Proxy) -> None:
    with scene.worker(url=proxy.url, TENURE_LEASE="6s", TENURE_POLL="1h") as worker:
        before = scene.only_worker()
        jobs = [scene.start(dying.waits.new_job()), scene.start(dying.waits_in_a_process.new_job())]
        scene.completes(scene.enqueue(dying.quick.new_job()))
        assert proxy.fall_silent() >= 4
        scene.let_go(*jobs)
        assert [(job.result, job.crashes) for job in scene.completes(*jobs)] == [(1, 0)] * 2
        assert [len(scene.runs(job)) for job in jobs] == [1, 1]
        scene.completes(scene.enqueue(dying.quick.new_job()), within=30)
        # By now it must be listening again: a poll would come too late for these jobs.
        for _ in range(3):
            scene.completes(scene.enqueue(dying.quick.new_job()), within=20)
        assert scene.only_worker() == before
        assert worker.drain() == 0
