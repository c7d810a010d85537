"""A connection that is cut at the worst moment: nothing is done twice, and who asked is told."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import Intent, State
from tenure.errors import LeaseLost, StoreUnavailable
from tenure.store.outcomes import Report
from tenure.store.results import Enqueued
from tenure.store.store import AsyncStore, Store
from tenure.store.transaction import AsyncTransaction, Fence, Transaction
from tests.cutting import Proxy
from tests.factories import Outcome, ending, make_job, make_worker


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
        "the connection was lost during enqueue, and its outcome is unknown; "
        "with an idempotency key it is safe to try again"
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


# An end whose answer was lost. Said again it is refused, and nothing about it is late.

ENDS: list[tuple[Outcome, dict[str, Any]]] = [
    ("completed", {"value": "the-mark"}),
    ("failed", {"error": {"message": "the-mark"}}),
    ("retry", {"error": {"message": "the-mark"}}),
    ("released", {"runner": "the-mark"}),
]


@pytest.mark.parametrize("attempt", [1, 2])
@pytest.mark.parametrize(("outcome", "more"), ENDS, ids=lambda one: str(one)[:9])
@pytest.mark.parametrize("again", ["finish", "exchange"])
def test_resending_an_outcome_whose_answer_was_lost_is_no_late_write(
    proxy: Proxy, store: Store, outcome: Outcome, more: dict[str, Any], attempt: int, again: str
) -> None:
    make_job(store, max_attempts=5)
    worker = make_worker(store)
    for _ in range(attempt - 1):
        worker.finish(worker.claim_one(), "retry")
    end = ending(worker.claim_one(), outcome, **more)
    with Store(proxy.url) as cut_off:
        proxy.cut_after_the_answer_to("the-mark")
        with pytest.raises(StoreUnavailable):
            cut_off.finish(worker.id, [end])
    became = store.show(end.job).state
    assert became is not State.RUNNING

    if again == "finish":
        said = store.finish(worker.id, [end])
    else:
        said = store.exchange(worker.id, [end]).finished
    assert (said.accepted, said.refused, said.late) == ({}, (end.job,), [])
    assert store.statistics().refused == 0
    assert store.show(end.job).state is became


def test_resending_an_outcome_that_a_stop_changed_is_no_late_write(store: Store) -> None:
    job, worker = make_job(store), make_worker(store)
    claimed = worker.claim_one()
    store.stop(job)
    assert worker.finish(claimed, heard=True).accepted == {job: State.CANCELLED}
    assert worker.finish(claimed, heard=True).late == []
    assert store.statistics().refused == 0


@pytest.mark.parametrize("said", ["failed", "retry", "report"])
@pytest.mark.parametrize("kind", ["plain", "async"])
def test_a_commit_of_a_job_whose_answer_was_lost_makes_nothing_it_says_late(
    proxy: Proxy, store: Store, kind: str, said: Any
) -> None:
    job, worker = make_job(store), make_worker(store)
    claimed = worker.claim_one()
    fence = Fence(worker.id, job, claimed.token)
    proxy.cut_after_the_answer_to("COMMIT")

    async def commit() -> None:
        async with AsyncTransaction(proxy.url, fence) as transaction:
            transaction.complete("done")

    def commit_plainly() -> None:
        with Transaction(proxy.url, fence) as transaction:
            transaction.complete("done")

    with pytest.raises(StoreUnavailable, match="outcome is unknown"):
        asyncio.run(commit()) if kind == "async" else commit_plainly()
    assert proxy.cuts == 1
    assert store.show(job).state is State.COMPLETED

    if said == "report":
        told = Report(job=job, token=claimed.token, partials=[1])
        answer: Any = store.report(worker.id, [told])
    else:
        answer = worker.finish(claimed, said)
    assert (answer.refused, answer.late) == ((job,), [])
    assert store.statistics().refused == 0
    assert store.show(job).result == "done"


def test_a_transaction_after_a_commit_whose_answer_was_lost_writes_nothing(
    database: str, store: Store
) -> None:
    job, worker = make_job(store), make_worker(store)
    claimed = worker.claim_one()
    worker.finish(claimed, value="first")
    second = Transaction(database, Fence(worker.id, job, claimed.token))
    with pytest.raises(LeaseLost, match="this attempt has already ended"), second:
        second.complete("second")
    assert store.show(job).result == "first"
    assert store.statistics().refused == 0
