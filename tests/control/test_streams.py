"""Streams of jobs: output once and in order, also for readers that come back or are slow."""

import asyncio
import threading
from collections.abc import Sequence
from contextlib import aclosing, nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from tenure.config import Settings
from tenure.control import job_stream
from tenure.control.client import Client
from tenure.control.handle import Handle
from tenure.control.hub import Hub
from tenure.control.job_stream import OutputQuery, Position, StreamItem, read_stream
from tenure.control.polling import Reader as Waiting
from tenure.domain.job import NewJob
from tenure.domain.lifecycle import State, Status
from tenure.domain.tenant import DEFAULT, Tenant
from tenure.errors import InputRefused, JobNotFound, StoreUnavailable
from tenure.stops import Subscription
from tenure.store.calls import queries
from tenure.store.outcomes import LogLine, Report
from tenure.store.results import Claimed, Output, StreamPage
from tenure.store.store import Store
from tests.control.watched import Reader, cut, cuttable, run, watched
from tests.factories import Worker, end_as_stopped, make_job, make_worker
from tests.store.roles import Roles
from tests.waiting import soon


def running(store: Store) -> tuple[Worker, Claimed]:
    make_job(store)
    worker = make_worker(store, timedelta(hours=1))
    return worker, worker.claim_one()


def report(worker: Worker, job: Claimed, **told: Any) -> None:
    done = worker.store.report(worker.id, [Report(job=job.id, token=job.token, **told)])
    assert done.accepted == (job.id,)


def note(batch: Sequence[StreamItem]) -> list[Any]:
    return [said(item) for item in batch]


def said(item: StreamItem) -> Any:
    match item.kind, item.value:
        case "status", {"status": status}:
            return status
        case "log", {"line": line}:
            return f"log {line}"
        case "progress", {"done": done}:
            return f"progress {done}"
    return item.value


class Following(Reader):
    """All items, one after the other."""

    def __init__(self, batches: Any) -> None:
        super().__init__(batches, lambda batch: batch.items)

    @property
    def items(self) -> list[StreamItem]:
        return [item for batch in self.seen for item in batch]

    async def saw(self, *notes: Any) -> None:
        try:
            await soon(lambda: note(self.items) == list(notes))
        except AssertionError:
            assert note(self.items) == list(notes)


def test_a_stream_has_all_that_a_job_puts_out_and_ends_with_it(database: str, store: Store) -> None:
    async def story() -> None:
        worker, job = running(store)
        report(worker, job, partials=["a", "b"])
        async with watched(database) as (watching, ada):
            reader = Following(watching.stream(ada, job.id))
            await reader.saw("a", "b", "running")
            report(worker, job, logs=[LogLine("x")], progress={"done": 1})
            await reader.saw("a", "b", "running", "log x", "progress 1")
            report(worker, job, partials=["c"])
            worker.finish(job, value=1)
            await reader.task
            assert note(reader.items)[5:] == ["c", "completed"]

    run(story())


def test_a_reader_that_comes_back_misses_nothing_and_gets_nothing_twice(
    database: str, store: Store
) -> None:
    """Broken off after each item in turn, with each part read by a client of its own."""
    worker, job = running(store)
    report(worker, job, partials=["a"], progress={"done": 1})
    report(worker, job, logs=[LogLine("x")], partials=["b"])
    worker.finish(job, "failed", error={"message": "no"})

    async def read(after: str | int, most: int) -> list[StreamItem]:
        items: list[StreamItem] = []
        async with Client(database, settings=Settings()) as client:
            async for item in Handle[Any](client, job.id, DEFAULT).stream(after):
                items.append(item)
                if len(items) == most:
                    break
        return items

    async def story() -> None:
        whole = await read(0, 100)
        assert sorted(note(whole)[:-1]) == ["a", "b", "log x", "progress 1"]
        assert [item.value for item in whole if item.kind == "partial"] == ["a", "b"]
        assert whole[-1].value == {"status": "failed", "attempt": 1, "reason": "no"}
        for place, item in enumerate(whole):
            assert await read(item.id, 100) == whole[place + 1 :], item

    run(story())


def test_with_the_number_of_a_partial_result_the_state_comes_again(
    database: str, store: Store
) -> None:
    async def story() -> list[Any]:
        worker, job = running(store)
        report(worker, job, partials=["a", "b"])
        worker.finish(job)
        number = store.job_output(job.id, "partials")[0]["id"]
        async with watched(database) as (watching, ada):
            batches = watching.stream(ada, job.id, after=number)
            return [each async for batch in batches for each in note(batch.items)]

    assert run(story()) == ["b", "completed"]


def test_a_position_that_is_not_there_yet_is_refused(database: str, store: Store) -> None:
    """Else what gets these numbers later would be missed."""

    async def story() -> None:
        worker, job = running(store)
        report(worker, job, partials=["a"])
        number = store.job_output(job.id, "partials")[0]["id"]
        async with watched(database) as (watching, ada):
            with pytest.raises(InputRefused, match=f"no output with the number {number + 1} yet"):
                await anext(watching.stream(ada, job.id, after=number + 1))

    run(story())


@pytest.mark.parametrize("after", ["", "x", "-1", -1, True, None, 1.5, "1.2", "9" * 19, "1.g.h"])
def test_a_position_that_is_none_is_refused(database: str, after: Any) -> None:
    with (
        Client(database) as client,
        pytest.raises(InputRefused, match="after: it takes the id of an item"),
    ):
        Handle[Any](client, 1, DEFAULT).stream(after)


def test_a_job_of_another_tenant_has_no_stream(database: str, store: Store) -> None:
    async def story() -> None:
        worker, job = running(store)
        report(worker, job, partials=["secret"])
        async with Client(database, settings=Settings()) as client:
            await asyncio.to_thread(client.create_tenant, "other")
            async with Subscription(client) as watching:
                with pytest.raises(JobNotFound):
                    await anext(watching.stream(Tenant("other"), job.id))

    run(story())


def test_a_stop_and_its_reason_are_in_the_stream(database: str, store: Store) -> None:
    async def story() -> None:
        worker, job = running(store)
        async with watched(database) as (watching, ada):
            reader = Following(watching.stream(ada, job.id))
            await reader.saw("running")
            store.stop(job.id, reason="enough")
            await reader.saw("running", "cancelling")
            end_as_stopped(worker, job)
            await reader.task
            assert reader.items[-1].value == {
                "status": "cancelled",
                "attempt": 1,
                "reason": "enough",
            }

    run(story())


def test_all_readers_of_a_job_share_one_query_and_their_pages(
    database: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int | None] = []
    original = OutputQuery.__init__

    def counted(self: OutputQuery, ask: Any, every: float) -> None:
        async def counting(above: int | None, follow: bool) -> Any:
            asked.append(above)
            return await ask(above, follow)

        original(self, counting, every)

    monkeypatch.setattr(OutputQuery, "__init__", counted)

    async def story() -> None:
        worker, job = running(store)
        report(worker, job, partials=["old"])
        async with watched(database) as (watching, ada):
            readers = [Following(watching.stream(ada, job.id)) for _ in range(50)]
            for reader in readers:
                await reader.saw("old", "running")
            assert asked.count(0) == 1, "one page of what is old, for all"
            for value in range(20):
                report(worker, job, partials=[value])
            worker.finish(job)
            for reader in readers:
                await reader.task
                assert note(reader.items) == ["old", "running", *range(20), "completed"]
            assert len(asked) < 50, asked

    run(story())


def test_a_slow_reader_gets_everything_and_holds_one_page(
    database: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_stream, "MAX_KEPT", 5)

    async def story() -> None:
        worker, job = running(store)
        async with watched(database) as (watching, ada):
            async with aclosing(watching.stream(ada, job.id)) as slow:
                batches = [await anext(slow)]
                quick = Following(watching.stream(ada, job.id))
                for number in range(600):
                    report(worker, job, partials=[number])
                worker.finish(job)
                await quick.task
                [query] = [
                    query for query in Hub.of(watching._client)._polls.values() if query.newest
                ]
                assert len(query._kept) <= 5
                batches += [batch async for batch in slow]
            assert note([item for batch in batches for item in batch.items]) == [
                "running",
                *range(600),
                "completed",
            ]
            assert max(len(batch.items) for batch in batches) <= 202, "a page at a time"

    run(story())


def test_large_values_come_a_few_at_a_time(store: Store) -> None:
    worker, job = running(store)
    for number in range(6):
        numbers = [(number * 7919 + each) * 2654435761 % 10**18 for each in range(40_000)]
        report(worker, job, partials=[numbers])
    first = store.send(queries.stream(job.id, 0))
    assert 1 <= len(first.items) < 6
    assert store.send(queries.stream(job.id, first.items[-1].number)).items


def test_an_outage_is_waited_out(database: str, store: Store, sql: psycopg.Connection) -> None:
    async def story() -> None:
        worker, job = running(store)
        async with watched(cuttable(database)) as (watching, ada):
            reader = Following(watching.stream(ada, job.id))
            await reader.saw("running")
            for value in range(3):
                await cut(sql)
                report(worker, job, partials=[value])
            await reader.saw("running", 0, 1, 2)
            await reader.stop()

    run(story())


def test_plain_code_reads_a_stream_too(database: str, store: Store) -> None:
    worker, job = running(store)
    report(worker, job, partials=["a"])
    with Client(database) as client:
        stream = Handle[Any](client, job.id, DEFAULT).stream()
        seen = []
        for item in stream:
            seen.append(said(item))
            if len(seen) == 2:
                report(worker, job, partials=["b"])
            if len(seen) == 3:
                worker.finish(job)
        assert seen == ["a", "running", "b", "completed"]
        assert [said(item) for item in stream] == ["a", "b", "completed"], "from the start again"
        assert not client._of_loops, "the connections of its loop are closed"
    assert threading.active_count() < 20


def test_plain_code_in_a_coroutine_is_told_to_use_async_for(database: str) -> None:
    async def story() -> None:
        async with Client(database, settings=Settings()) as client:
            with pytest.raises(InputRefused, match="use `async for`"):
                iter(Handle[Any](client, 1, DEFAULT).stream())

    run(story())


def test_reports_notify_only_while_somebody_reads(
    database: str, store: Store, sql: psycopg.Connection
) -> None:
    """A drain without readers sends no notification for its output."""
    worker, job = running(store)
    sql.execute("LISTEN tenure_events")
    report(worker, job, partials=["unread"])
    assert list(sql.notifies(timeout=0.2)) == []
    store.send(queries.stream(job.id, follow=True))
    report(worker, job, partials=["read"])
    [told] = list(sql.notifies(timeout=5, stop_after=1))
    assert f'"job_id" : {job.id}' in told.payload
    sql.execute("UPDATE tenure.reader SET until = now() - interval '1 second'")
    report(worker, job, partials=["unread again"])
    assert list(sql.notifies(timeout=0.2)) == []


def test_readers_that_are_gone_are_forgotten(store: Store, sql: psycopg.Connection) -> None:
    _, first = running(store)
    store.send(queries.stream(first.id, follow=True))
    sql.execute("UPDATE tenure.reader SET until = now() - interval '1 second'")
    _, second = running(store)
    store.send(queries.stream(second.id, follow=True))
    assert sql.execute("SELECT job_id FROM tenure.reader").fetchall() == [(second.id,)]


def answer(state: State, newest: int, *numbers: int) -> StreamPage:
    items = tuple(Output(number, "partial", datetime.now(UTC), number) for number in numbers)
    return StreamPage(state, Status(state), 1, None, None, newest, items)


def test_the_end_does_not_overtake_output_that_needs_another_answer() -> None:
    """A reader that comes back when the job has just ended, and an answer that is not all."""

    async def story() -> list[Any]:
        answers = [
            answer(State.RUNNING, 0),
            answer(State.COMPLETED, 4, 1, 2),
            answer(State.COMPLETED, 4, 3, 4),
        ]

        async def ask(above: int | None, follow: bool) -> StreamPage:
            await asyncio.sleep(0)
            return answers.pop(0)

        query = OutputQuery(ask, 600)
        reader = Waiting([query])
        query.join(reader)
        items: list[StreamItem] = []

        async def read() -> None:
            async for batch in read_stream(nullcontext((query, reader)), Position()):
                items.extend(batch.items)

        async with asyncio.TaskGroup() as group:
            group.create_task(read())
            group.create_task(query.run())
        return note(items)

    assert run(story())[-5:] == [1, 2, 3, 4, "completed"]


def test_a_page_that_could_not_be_read_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also while the query itself is answered, and has no news."""
    monkeypatch.setattr(job_stream, "RETRY_AFTER", 0.01)

    async def story() -> list[Any]:
        failures = [StoreUnavailable("all connections are in use")]

        async def ask(above: int | None, follow: bool) -> StreamPage:
            if above == 0 and failures:
                raise failures.pop()
            return answer(State.RUNNING, 2, *([1, 2] if above == 0 else []))

        query = OutputQuery(ask, 600)
        reader = Waiting([query])
        query.join(reader)
        polling = asyncio.create_task(query.run())
        async with aclosing(read_stream(nullcontext((query, reader)), Position())) as batches:
            async with asyncio.timeout(5):
                batch = await anext(batches)
        polling.cancel()
        return note(batch.items)

    assert run(story())[:2] == [1, 2]


def test_a_stream_that_is_notified_asks_rarely() -> None:
    """Each report is notified: after a notification, the next poll is the regular one."""

    async def story() -> None:
        async def ask(above: int | None, follow: bool) -> StreamPage:
            return answer(State.RUNNING, 0)

        query = OutputQuery(ask, 600)
        running = asyncio.create_task(query.run())
        await soon(lambda: query.answered == 1, "the first answer")

        async def is_quiet() -> bool:
            before = query.asked
            query.wake()
            await soon(lambda: query.answered > before, "the answer to a notification")
            asked = query.asked
            await asyncio.sleep(0.3)
            return query.asked == asked

        # The pause before may end in the moment of a notification; that of the next is long.
        assert any([await is_quiet() for _ in range(4)]), "asked again after each notification"
        running.cancel()

    run(story())


def test_a_producer_reads_the_streams_of_its_own_jobs(
    database: str, store: Store, sql: psycopg.Connection
) -> None:
    roles = Roles(store, sql, database)
    try:
        _, producer = roles.make("producer")
        theirs = make_job(store)
        [own] = producer.enqueue([NewJob(task="work")])
        assert producer.send(queries.stream(own.id, 0, follow=True)).state is State.PENDING
        with pytest.raises(JobNotFound):
            producer.send(queries.stream(theirs, 0, follow=True))
        assert sql.execute("SELECT job_id FROM tenure.reader").fetchall() == [(own.id,)]
    finally:
        roles.drop()
