"""A job from the outside: looked at, waited for, stopped, resumed; by plain code and by async."""

import asyncio
import pickle
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from typing import Any

import pytest
from pydantic import BaseModel

from tenure.app import Tenure
from tenure.config import Settings
from tenure.control.handle import Handle
from tenure.control.task import Task
from tenure.domain.lifecycle import State
from tenure.errors import (
    IllegalTransition,
    InputRefused,
    JobCancelled,
    JobFailed,
    JobNotEnded,
    JobNotFound,
    StoreUnavailable,
    TenureError,
)
from tenure.store.call import Call
from tenure.store.outcomes import Artifact, Report
from tenure.store.store import AsyncStore, Store
from tests.factories import end_as_stopped, make_job, make_worker, promote


class Page(BaseModel):
    url: str
    seen: date


@pytest.fixture
def app(database: str) -> Iterator[Tenure]:
    with Tenure(database, settings=Settings()) as app:
        yield app


@pytest.fixture
def crawl(app: Tenure) -> Task[[str], list[Page]]:
    @app.task(name="crawl")
    def crawl(site: str) -> list[Page]:
        return []

    return crawl


PAGE = Page(url="a", seen=date(2030, 1, 2))
WRITTEN = [{"url": "a", "seen": "2030-01-02"}]
ERROR = {"type": "ValueError", "message": "no", "traceback": "Traceback: ..."}


def both(handle: Handle[Any], plain: str, twin: str, *args: Any, **kwargs: Any) -> Any:
    """Ask in plain code and in async code, which have to agree."""

    async def ask() -> Any:
        try:
            return await getattr(handle, twin)(*args, **kwargs)
        finally:
            await handle._client.aclose()

    def told(ask: Callable[[], Any]) -> Any:
        try:
            return ask()
        except TenureError as error:
            return type(error), str(error)

    answer = told(lambda: getattr(handle, plain)(*args, **kwargs))
    assert told(lambda: asyncio.run(ask())) == answer
    return answer


def test_a_completed_job_gives_its_result_as_its_type(
    app: Tenure, crawl: Task[[str], list[Page]], store: Store
) -> None:
    handle = crawl.enqueue("a")
    worker = make_worker(store)
    assert both(handle, "status", "astatus") == "queued"
    claimed = worker.claim_one()
    assert both(handle, "job", "ajob").state is State.RUNNING
    worker.finish(claimed, value=WRITTEN)
    assert both(handle, "wait", "await_end").state is State.COMPLETED
    assert both(handle, "result", "aresult") == [PAGE]
    assert app.handle(handle.id).result() == [PAGE]
    assert handle.read(handle.job()) == [PAGE]


def test_a_job_of_an_unknown_task_gives_plain_json(app: Tenure) -> None:
    handle = app.handle(make_job(app.store))
    worker = make_worker(app.store)
    worker.finish(worker.claim_one(), value=WRITTEN)
    assert handle.result() == WRITTEN


def test_a_failed_job_gives_its_error(app: Tenure, crawl: Task[[str], list[Page]]) -> None:
    handle = crawl.enqueue("a")
    worker = make_worker(app.store)
    worker.finish(worker.claim_one(), "failed", error=ERROR)
    assert both(handle, "result", "aresult") == (
        JobFailed,
        f"job {handle.id} failed: ValueError: no",
    )
    with pytest.raises(JobFailed) as failed:
        handle.result()
    for error in (failed.value, pickle.loads(pickle.dumps(failed.value))):
        assert (error.job_id, error.error_type, error.error_message, error.error_traceback) == (
            handle.id,
            "ValueError",
            "no",
            "Traceback: ...",
        )
    assert both(handle, "wait", "await_end").state is State.FAILED


def test_a_cancelled_job_gives_who_and_why(crawl: Task[[str], list[Page]]) -> None:
    handle = crawl.enqueue("a")
    record = handle.cancel("customer left", by="ann")
    assert (record.reason, record.initiated_by, record.success) == ("customer left", "ann", True)
    sentence = f"job {handle.id} was cancelled by ann: customer left"
    assert both(handle, "result", "aresult") == (JobCancelled, sentence)
    with pytest.raises(JobCancelled) as cancelled:
        handle.result()
    for error in (cancelled.value, pickle.loads(pickle.dumps(cancelled.value))):
        assert (error.job_id, error.reason, error.by) == (handle.id, "customer left", "ann")


def test_waiting_ends_with_the_time_for_it(crawl: Task[[str], list[Page]]) -> None:
    handle = crawl.enqueue("a")
    for plain, twin in (("wait", "await_end"), ("result", "aresult")):
        kind, sentence = both(handle, plain, twin, timeout="50ms")
        assert kind is JobNotEnded
        assert sentence == f"job {handle.id} has not ended; it is queued after 50ms of waiting"
    handle.pause()
    with pytest.raises(TimeoutError, match="it is paused after 0s of waiting"):
        handle.wait(0)
    with pytest.raises(JobNotEnded, match="has not ended; it is paused"):
        handle.read(handle.job())
    with pytest.raises(InputRefused, match="is not a duration"):
        handle.wait("soon")


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How often somebody has looked at a job."""
    send, asend, counted = Store.send, AsyncStore.send, []

    def counting(self: Store, call: Call[Any]) -> Any:
        counted.append(call.verb)
        return send(self, call)

    async def acounting(self: AsyncStore, call: Call[Any]) -> Any:
        counted.append(call.verb)
        return await asend(self, call)

    monkeypatch.setattr(Store, "send", counting)
    monkeypatch.setattr(AsyncStore, "send", acounting)
    return lambda: counted.count("show")


@contextmanager
def finishing(app: Tenure, looks: Callable[[], int]) -> Iterator[None]:
    """Finish the only job once it was looked at a few times."""
    worker = make_worker(app.store)
    claimed = worker.claim_one()

    def finish() -> None:
        wait_until(lambda: looks() >= 3)
        worker.finish(claimed, value=WRITTEN)

    thread = threading.Thread(target=finish)
    thread.start()
    yield
    thread.join()


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_plain_code_waits_until_the_job_has_ended(
    app: Tenure, crawl: Task[[str], list[Page]], looks: Callable[[], int]
) -> None:
    handle = crawl.enqueue("a")
    with finishing(app, looks):
        assert handle.result("20s") == [PAGE]


def test_async_code_waits_until_the_job_has_ended(
    app: Tenure, crawl: Task[[str], list[Page]], looks: Callable[[], int]
) -> None:
    async def aresult(handle: Handle[list[Page]]) -> list[Page]:
        async with app:
            return await handle.aresult("20s")

    handle = crawl.enqueue("a")
    with finishing(app, looks):
        assert asyncio.run(aresult(handle)) == [PAGE]


def test_waiting_outlasts_a_database_that_goes_away(
    app: Tenure,
    crawl: Task[[str], list[Page]],
    looks: Callable[[], int],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    handle = crawl.enqueue("a")
    send, away = app.store.send, iter([False, True, True])

    def broken(call: Call[Any]) -> Any:
        if call.verb == "show" and next(away, False):
            raise StoreUnavailable("the database cannot be reached")
        return send(call)

    with finishing(app, looks):
        monkeypatch.setattr(app.store, "send", broken)
        assert handle.wait("20s").state is State.COMPLETED
    assert caplog.messages == ["still waiting: the database cannot be reached"] * 2
    away = iter([True])
    with pytest.raises(StoreUnavailable):
        handle.wait("20s")


def test_a_running_job_is_stopped_and_waited_for(
    app: Tenure, crawl: Task[[str], list[Page]]
) -> None:
    handle = crawl.enqueue("a")
    worker = make_worker(app.store)
    claimed = worker.claim_one()
    record = handle.cancel(grace="5s", last_rung="interrupted")
    assert (record.grace, record.last_rung, record.status) == (5, "interrupted", "stopping_runners")
    assert handle.status() == "cancelling"
    assert handle.cancel(force=True).again
    with pytest.raises(JobNotEnded, match=r"of job 1 is stopping_runners after 50ms of waiting"):
        handle.cancel(wait=True, timeout="50ms")

    end_as_stopped(worker, claimed)

    other = crawl.enqueue("b")
    claimed = worker.claim_one()

    def stop() -> None:
        wait_until(lambda: other.status() == "cancelling")
        end_as_stopped(worker, claimed)
        promote(app.store)

    stopping = threading.Thread(target=stop)
    stopping.start()
    assert other.cancel(wait=True, timeout="20s").status == "completed"
    stopping.join()
    assert other.status() == "cancelled"


def test_a_job_is_paused_and_resumed(crawl: Task[[str], list[Page]]) -> None:
    handle = crawl.enqueue("a")
    assert handle.pause("lunch", wait=True).status == "completed"
    assert handle.status() == "paused"
    assert handle.resume("back").status == "queued"

    async def twins() -> None:
        async with crawl.client:
            assert (await handle.apause()).intent == "pause"
            assert (await handle.aresume(fresh=True)).status == "queued"
            assert (await handle.acancel("enough", wait=True)).reason == "enough"
            with pytest.raises(IllegalTransition, match="cannot resume a job that is cancelled"):
                await handle.aresume()

    asyncio.run(twins())


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("cancel", {"grace": "soon"}, "grace: 'soon' is not a duration"),
    ("cancel", {"last_rung": "shot"}, "last_rung: it takes 'asked', "),
    ("cancel", {"reason": ""}, "the reason of a stop is empty"),
    ("cancel", {"force": True, "last_rung": "asked"}, "a forced one kills"),
    ("cancel", {"graec": "5s"}, "graec: there is no such option; the nearest is grace"),
    ("pause", {"grace": -1}, "grace: a duration cannot be negative"),
]


@pytest.mark.parametrize(("verb", "how", "sentence"), WRONG)
def test_a_stop_that_cannot_be_is_refused(
    crawl: Task[[str], list[Page]], verb: str, how: Any, sentence: str
) -> None:
    handle = crawl.enqueue("a")
    kind, said = both(handle, verb, f"a{verb}", **how)
    assert issubclass(kind, InputRefused)
    assert sentence in said
    assert handle.status() == "queued"


def test_what_a_job_left_can_be_read(
    app: Tenure, crawl: Task[[str], list[Page]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenure.control.job_operations.PAGE", 2)
    handle = crawl.enqueue("a")
    worker = make_worker(app.store)
    claimed = worker.claim_one()
    artifacts = (Artifact("log.txt", "file:///log.txt", 5),)
    app.store.report(
        worker.id,
        [
            Report(
                job=claimed.id,
                token=claimed.token,
                partials=[1, [2], None, 4, 5],
                artifacts=[*artifacts],
            )
        ],
    )
    children = [crawl.using(parent=handle).enqueue(site) for site in "bcd"]
    assert both(handle, "partials", "apartials") == [1, [2], None, 4, 5]
    [kept] = both(handle, "artifacts", "aartifacts")
    assert (kept["name"], kept["url"], kept["size"]) == ("log.txt", "file:///log.txt", 5)
    assert both(handle, "children", "achildren") == children
    assert both(handle, "explain", "aexplain").status == "running"


def test_a_handle_is_found_by_key(app: Tenure, crawl: Task[[str], list[Page]]) -> None:
    handle = crawl.using(key="k").enqueue("a")
    assert app.handle("k") == handle
    assert app.handle(handle.id) == handle
    assert hash(app.handle("k")) == hash(handle)
    assert repr(handle) == f"<handle of job {handle.id} of tenant default>"
    with pytest.raises(JobNotFound, match="there is no job with the key 'nobody'"):
        app.handle("nobody")

    async def find() -> None:
        async with app:
            assert await app.ahandle("k") == handle
            assert await app.ahandle(handle.id) == handle

    asyncio.run(find())


def test_a_job_that_does_not_exist_is_an_error(app: Tenure) -> None:
    nobody = app.handle(999)
    for plain, twin in (("status", "astatus"), ("wait", "await_end"), ("cancel", "acancel")):
        kind, sentence = both(nobody, plain, twin)
        assert kind is JobNotFound
        assert "there is no job 999" in sentence


def test_plain_code_starts_no_event_loop(
    crawl: Task[[str], list[Page]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise AssertionError("an event loop")

    monkeypatch.setattr(asyncio, "new_event_loop", refuse)
    handle = crawl.enqueue("a")
    handle.cancel(wait=True)
    assert handle.wait().state is State.CANCELLED


# From inside a job that is not told.


def test_whether_a_job_is_to_stop(app: Tenure, crawl: Task[[str], list[Page]]) -> None:
    handle = crawl.enqueue("a")
    make_worker(app.store).claim_one()

    async def check() -> bool:
        async with app:
            return await app.acheck_cancellation_requested(handle.id)

    assert not app.check_cancellation_requested(handle.id)
    assert not asyncio.run(check())
    handle.cancel()
    assert app.check_cancellation_requested(handle.id)
    assert asyncio.run(check())
    with pytest.raises(JobNotFound, match="there is no job 999"):
        app.check_cancellation_requested(999)


def test_a_database_that_is_away_asks_nobody_to_stop(caplog: pytest.LogCaptureFixture) -> None:
    settings = Settings(connect_timeout="100ms")  # type: ignore[arg-type]

    async def check() -> bool:
        async with Tenure("postgresql:///x?host=/nowhere", settings=settings) as app:
            return await app.acheck_cancellation_requested(5)

    with Tenure("postgresql:///x?host=/nowhere", settings=settings) as app:
        assert app.check_cancellation_requested(5) is False
    assert asyncio.run(check()) is False
    warned = "it is unknown whether a stop of job 5 was requested"
    said = [line for line in caplog.messages if warned in line]
    assert len(said) == 2
