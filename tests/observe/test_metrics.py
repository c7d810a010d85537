"""What the server shows of a tenant: from the database, in the names that are documented."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import msgspec
import psycopg
import pytest

from tenure.config import Settings
from tenure.domain.lifecycle import Intent, Rung
from tenure.observe.families import BoundedLabel
from tenure.observe.metrics import DatabaseMetrics, Rising
from tenure.observe.series import MAX_VALUES, SECONDS, SERIES, Source, of
from tenure.store.call import Call
from tenure.store.scale_results import Scale
from tenure.store.store import Store
from tenure.store.totals import OpenJobs, Tally, Totals
from tenure.testing import Clock
from tests.factories import announcement, make_job, make_worker, promote
from tests.observe.reading import complaints, label_values, promtool, samples, value

SECOND = timedelta(seconds=1)


def asking(store: Store) -> Callable[[Call[Any]], Awaitable[Any]]:
    async def send(call: Call[Any]) -> Any:
        return await asyncio.to_thread(store.send, call)

    return send


def page_of(store: Store, settings: Settings | None = None) -> bytes:
    return asyncio.run(DatabaseMetrics(settings or Settings()).page("default", asking(store)))


def paging(totals: Totals) -> Callable[[Call[Any]], Awaitable[Any]]:
    async def send(call: Call[Any]) -> Any:
        return totals if call.verb == "totals" else Scale(0, 0, 0, 0.0, "", (), ())

    return send


NOTHING = Totals((), (), 0, (), {}, 0, (), (1.0, 10.0))


def test_every_series_of_the_server_is_shown_and_no_other(store: Store, clock: Clock) -> None:
    worker = make_worker(store, 3600 * SECOND)
    make_job(store)
    job = worker.claim_one()
    store.stop(job.id)
    worker.finish(job, "stopped", rung=Rung.KILLED, heard=True)
    promote(store)
    store.announce(worker.id, [])  # it has no task at all
    make_job(store)
    shown = {name for series in of(Source.SERVER) for name in series.shown}
    assert set(samples(page_of(store))) == {f"tenure_{name}" for name in shown}


@promtool
def test_the_tool_of_prometheus_finds_nothing_wrong_with_the_page(store: Store) -> None:
    store.stop(make_job(store))
    make_job(store)
    assert complaints(page_of(store)) == ""


def test_the_prefix_may_be_another_or_none(store: Store) -> None:
    assert "zombies" in samples(page_of(store, Settings(metrics_prefix=None)))
    assert "shop_zombies" in samples(page_of(store, Settings(metrics_prefix="shop_")))


def test_every_sample_names_its_tenant_and_has_the_labels_that_are_documented(
    store: Store,
) -> None:
    worker = make_worker(store)
    make_job(store)
    store.stop(worker.claim_one().id)
    store.stop(make_job(store))
    make_job(store)
    for name, found in samples(page_of(store)).items():
        [series] = [one for one in SERIES.values() if name.removeprefix("tenure_") in one.shown]
        for labels in found:
            assert {label for label, _ in labels} - {"le"} == set(series.labels)
            assert dict(labels)["tenant"] == "default"


def test_what_is_counted_is_what_happened(store: Store, clock: Clock) -> None:
    worker = make_worker(store, 3600 * SECOND)
    for by, rung in (("ada", Rung.INTERRUPTED), ("policy:budget", Rung.KILLED)):
        make_job(store)
        job = worker.claim_one()
        store.stop(job.id, by=by)
        clock.advance(40 * SECOND)
        worker.finish(job, "stopped", rung=rung, heard=True)
        promote(store)
    make_job(store)
    store.close_record(store.stop(worker.claim_one().id).cancellation_id, "failed", error="no")
    make_job(store)
    store.stop(worker.claim_one().id, intent=Intent.PAUSE)
    make_job(store, queue="mail")
    store.pause_dispatch("queue", "mail")
    clock.advance(61 * SECOND)
    page = page_of(store)
    requests = "tenure_cancellation_requests_total"
    assert value(page, requests, intent="cancel", origin="user") == 2
    assert value(page, requests, intent="cancel", origin="policy:budget") == 1
    assert value(page, requests, intent="pause") == 1
    assert value(page, "tenure_cancellation_failures_total", status="failed") == 1
    assert value(page, "tenure_cancellation_failures_total", status="partial") == 0
    durations = "tenure_cancellation_duration_seconds"
    assert value(page, f"{durations}_count", intent="cancel") == 3
    assert value(page, f"{durations}_sum", intent="cancel") == pytest.approx(80, abs=3)
    assert value(page, f"{durations}_bucket", intent="cancel", le="30.0") == 1
    assert value(page, f"{durations}_bucket", intent="cancel", le="60.0") == 3
    assert value(page, f"{durations}_bucket", intent="cancel", le="+Inf") == 3
    assert value(page, "tenure_runners_terminated_total", rung="killed") == 1
    assert value(page, "tenure_runners_terminated_total", rung="expired") == 0
    assert value(page, "tenure_stop_confirmed_seconds_count", rung="interrupted") == 1
    assert value(page, "tenure_stops_open", intent="pause") == 1
    assert value(page, "tenure_stops_open", intent="cancel") == 0
    assert value(page, "tenure_stops_overdue") == 1
    assert value(page, "tenure_jobs", queue="mail", status="queued") == 1
    age = value(page, "tenure_oldest_job_age_seconds", queue="mail", status="queued")
    assert age == pytest.approx(61, abs=2)
    assert value(page, "tenure_unserved_jobs", queue="mail") == 0
    assert value(page, "tenure_queue_paused", queue="mail") == 1
    assert value(page, "tenure_queue_paused", queue="default") == 0
    assert value(page, "tenure_workers", status="alive") == 1
    assert value(page, "tenure_workers", status="late") == 0


def test_recovered_jobs_refused_writes_and_zombies(store: Store, clock: Clock) -> None:
    worker = make_worker(store)
    make_job(store)
    job = worker.claim_one()
    clock.advance(16 * SECOND)
    page = page_of(store)
    assert value(page, "tenure_zombies") == 1
    assert value(page, "tenure_jobs_recovered_total") == 0
    store.recover()
    worker.finish(job)
    page = page_of(store)
    assert value(page, "tenure_zombies") == 0
    assert value(page, "tenure_jobs_recovered_total") == 1
    assert value(page, "tenure_late_writes_refused_total") == 1
    assert value(page, "tenure_unserved_jobs", queue="default") == 1


def test_a_counter_never_falls(store: Store, sql: psycopg.Connection) -> None:
    metrics = DatabaseMetrics(Settings(), fresh_for=0)
    for _ in range(3):
        store.stop(make_job(store))

    def requests() -> float:
        page = asyncio.run(metrics.page("default", asking(store)))
        return value(page, "tenure_cancellation_requests_total", origin="user", intent="cancel")

    def bucket() -> float:
        page = asyncio.run(metrics.page("default", asking(store)))
        return value(page, "tenure_cancellation_duration_seconds_bucket", le="+Inf")

    assert (requests(), bucket()) == (3, 3)
    sql.execute("DELETE FROM tenure.cancellation")
    store.stop(make_job(store))
    assert (requests(), bucket()) == (3, 3)
    store.stop(make_job(store))
    assert (requests(), bucket()) == (4, 4)


def test_what_falls_and_rises_again_is_counted_from_where_it_fell_to() -> None:
    rising = Rising()
    assert [rising(n, "a") for n in (5, 7, 2, 3, 3)] == [5, 7, 7, 8, 8]
    assert rising(1, "b") == 1


def test_the_database_is_not_asked_again_for_a_while() -> None:
    metrics = DatabaseMetrics(Settings(), fresh_for=60)
    asked = []

    async def send(call: Call[Any]) -> Any:
        asked.append(call.verb)
        return await paging(NOTHING)(call)

    async def scrape() -> None:
        await asyncio.gather(*(metrics.page("default", send) for _ in range(10)))
        await metrics.page("acme", send)

    asyncio.run(scrape())
    assert asked == ["totals", "scale"] * 2


def test_what_a_first_look_refused_is_asked_again() -> None:
    metrics = DatabaseMetrics(Settings())

    async def refuse(_call: Call[Any]) -> Any:
        raise PermissionError("no")

    async def scrape() -> bytes:
        with pytest.raises(PermissionError):
            await metrics.page("default", refuse)
        return await metrics.page("default", paging(NOTHING))

    assert value(asyncio.run(scrape()), "tenure_zombies") == 0


def test_the_workers_that_are_wanted_are_shown_as_a_fraction_by_queue_and_kind(
    store: Store,
) -> None:
    store.announce_tasks([announcement("work"), announcement("crunch", executor="process")])
    worker = make_worker(store, capacity={"async": 4, "process": 2})
    store.renew(worker.id, run_times={"work": 3600.0, "crunch": 3600.0})
    for _ in range(3):
        make_job(store, queue="mail")
        make_job(store, "crunch", queue="mail")
    promote(store)
    page = page_of(store)
    wanted = "tenure_workers_wanted"
    assert value(page, wanted, queue="mail", kind="async") == 0.75
    assert value(page, wanted, queue="mail", kind="process") == 1.5


def test_the_buckets_of_the_database_are_those_of_workers(store: Store) -> None:
    assert store.totals().bounds == SECONDS


def test_so_many_queues_and_no_more() -> None:
    jobs = tuple(OpenJobs(f"q{n}", "queued", 1, float(n), False) for n in range(MAX_VALUES + 50))
    tally = tuple(
        Tally("record", ("cancel", f"policy:p{n}", "completed"), 0, 1, 0.5)
        for n in range(MAX_VALUES + 50)
    )
    totals = msgspec.structs.replace(NOTHING, jobs=jobs, tally=tally)
    page = asyncio.run(DatabaseMetrics(Settings()).page("default", paging(totals)))
    for name, label in (
        ("tenure_jobs", "queue"),
        ("tenure_unserved_jobs", "queue"),
        ("tenure_cancellation_requests_total", "origin"),
    ):
        assert len(label_values(page, name, label)) <= MAX_VALUES + 2
        assert "other" in label_values(page, name, label)
    assert value(page, "tenure_jobs", queue="other") == 50
    assert value(page, "tenure_jobs") == MAX_VALUES + 50
    assert value(page, "tenure_unserved_jobs", queue="other") == 50
    oldest = value(page, "tenure_oldest_job_age_seconds", queue="other")
    assert oldest == MAX_VALUES + 49


def test_a_label_keeps_the_values_it_knew_first() -> None:
    bounded = BoundedLabel(2)
    assert [bounded(one) for one in ("a", "b", "c", "a")] == ["a", "b", "other", "a"]
