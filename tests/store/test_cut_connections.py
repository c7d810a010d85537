"""A connection that is cut at the worst moment: nothing is done twice, and who asked is told."""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import Intent
from tenure.errors import StoreUnavailable
from tenure.store.results import Enqueued
from tenure.store.store import AsyncStore, Store
from tests.factories import make_job, make_worker


class Proxy:
    """Stands between a store and the server, and cuts the connection once when it sees a mark."""

    def __init__(self, folder: Path, url: str) -> None:
        self._server = f"{conninfo_to_dict(url)['host']}/.s.PGSQL.5432"
        self.url = url.replace(str(conninfo_to_dict(url)["host"]), str(folder))
        self._door = socket.socket(socket.AF_UNIX)
        self._door.bind(str(folder / ".s.PGSQL.5432"))
        self._door.listen()
        self._mark, self._before = b"", False
        self._threads = [threading.Thread(target=self._welcome)]
        self._threads[0].start()
        self._sockets: list[socket.socket] = []
        self.cuts = 0

    def cut_after_the_answer_to(self, mark: str) -> None:
        self._mark, self._before = mark.encode(), False

    def cut_before_the_question(self, mark: str) -> None:
        self._mark, self._before = mark.encode(), True

    def close(self) -> None:
        self._door.shutdown(socket.SHUT_RDWR)
        for each in self._sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(20)
        for each in (self._door, *self._sockets):
            each.close()

    def _welcome(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._door.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._server)
                self._sockets += [client, server]
                thread = threading.Thread(target=self._carry, args=(client, server))
                self._threads.append(thread)
                thread.start()

    def _carry(self, client: socket.socket, server: socket.socket) -> None:
        """Question and answer in turn, as the protocol has it without pipelining."""
        with suppress(OSError):
            while question := client.recv(1 << 20):
                marked = bool(self._mark) and self._mark in question
                if marked and self._before:
                    break
                server.sendall(question)
                answer = _whole_answer(server)
                if marked:
                    break
                client.sendall(answer)
            else:
                server.shutdown(socket.SHUT_RDWR)
                return
            self._mark = b""
            self.cuts += 1
        for end in (client, server):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


def _whole_answer(server: socket.socket) -> bytes:
    """All the messages up to ReadyForQuery: what the server did is committed by then."""
    answer = b""
    while piece := server.recv(1 << 20):
        answer += piece
        place, kind = 0, b""
        while place + 5 <= len(answer):
            kind = answer[place : place + 1]
            place += 1 + int.from_bytes(answer[place + 1 : place + 5])
        if kind == b"Z" and place == len(answer):
            break
    return answer


@pytest.fixture
def proxy(database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    proxy = Proxy(tmp_path_factory.mktemp("p"), database)
    yield proxy
    proxy.close()


Cut = Callable[[Proxy, str], None]
at_the_worst_moments = pytest.mark.parametrize(
    "cut", [Proxy.cut_after_the_answer_to, Proxy.cut_before_the_question]
)


@at_the_worst_moments
def test_a_job_with_an_idempotency_key_exists_once_however_its_commit_was_cut(
    proxy: Proxy, store: Store, cut: Cut
) -> None:
    with Store(proxy.url) as cut_off:
        cut(proxy, "the-mark")
        [job] = cut_off.enqueue(NewJob(task="the-mark", idempotency="order-1"))
    assert proxy.cuts == 1
    assert [found.id for found in store.list_jobs()] == [job.id]


@at_the_worst_moments
def test_an_async_job_with_an_idempotency_key_exists_once_however_its_commit_was_cut(
    proxy: Proxy, store: Store, cut: Cut
) -> None:
    cut(proxy, "the-mark")
    new = NewJob(task="the-mark", idempotency="order-1")

    async def enqueue() -> Sequence[Enqueued]:
        async with AsyncStore(proxy.url) as cut_off:
            return await cut_off.enqueue(new)

    [job] = asyncio.run(enqueue())
    assert proxy.cuts == 1
    assert [found.id for found in store.list_jobs()] == [job.id]


@at_the_worst_moments
def test_a_whole_job_exists_once_if_its_root_has_an_idempotency_key(
    proxy: Proxy, store: Store, cut: Cut
) -> None:
    whole = [
        NewJob(key="root", idempotency="order-1"),
        NewJob(key="first", parent="root", task="the-mark"),
        NewJob(key="second", parent="root", task="work", after=["first"]),
    ]
    with Store(proxy.url) as cut_off:
        cut(proxy, "the-mark")
        answers = cut_off.enqueue(whole)
    assert proxy.cuts == 1
    assert sorted(job.id for job in store.list_jobs()) == sorted(job.id for job in answers)
    assert [job.key for job in answers] == ["root", "first", "second"]


@pytest.mark.parametrize(
    ("cut", "there"), [(Proxy.cut_after_the_answer_to, 1), (Proxy.cut_before_the_question, 0)]
)
def test_a_job_without_a_key_is_never_sent_twice_and_the_error_says_what_would_help(
    proxy: Proxy, store: Store, cut: Cut, there: int
) -> None:
    with Store(proxy.url) as cut_off:
        cut(proxy, "the-mark")
        with pytest.raises(StoreUnavailable) as lost:
            cut_off.enqueue(NewJob(task="the-mark"))
    assert str(lost.value) == (
        "the connection was lost during enqueue, and nobody knows whether it was carried out; "
        "give it an idempotency key, and asking again is safe"
    )
    assert store.statistics().total == there


def test_a_child_without_a_key_is_never_sent_twice(proxy: Proxy, store: Store) -> None:
    parent = make_job(store)
    with Store(proxy.url) as cut_off:
        proxy.cut_after_the_answer_to("the-mark")
        with pytest.raises(StoreUnavailable, match="the connection was lost during enqueue"):
            cut_off.enqueue(NewJob(task="the-mark", parent=parent))
    assert store.statistics().total == 2


def test_a_claim_whose_answer_was_lost_is_found_again_by_what_the_worker_holds(
    proxy: Proxy, store: Store
) -> None:
    job, worker = make_job(store, queue="the-mark"), make_worker(store)
    with Store(proxy.url) as cut_off:
        proxy.cut_after_the_answer_to("the-mark")
        with pytest.raises(StoreUnavailable, match="the connection was lost during claim"):
            cut_off.claim(worker.id, 1, queues=["the-mark"])
        assert [held.job for held in cut_off.held(worker.id)] == [job]


def test_a_stop_whose_answer_was_lost_is_asked_again_and_makes_no_second_record(
    proxy: Proxy, store: Store
) -> None:
    job, worker = make_job(store), make_worker(store)
    worker.claim_one()
    with Store(proxy.url) as cut_off:
        proxy.cut_after_the_answer_to("the-mark")
        record = cut_off.stop(job, intent=Intent.PAUSE, reason="the-mark")
    assert record.again
    assert [each.cancellation_id for each in store.cancellations()] == [record.cancellation_id]
