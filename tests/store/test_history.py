"""history: what became of the jobs of the last day."""

from datetime import timedelta
from itertools import pairwise
from statistics import median_low, quantiles

import psycopg
import pytest

from tenure.errors import InputRefused
from tenure.store.calls import upkeep
from tenure.store.drivers import send_on
from tenure.store.rollups import EndCounts, History
from tenure.store.store import Store
from tenure.testing import Clock
from tests.conftest import Connect
from tests.store.rolling import HOUR, MINUTE, OFF, SECOND, counts, end_one, ended_jobs, roll_up


def test_counts_are_exact_and_percentiles_within_a_tenth(
    store: Store, sql: psycopg.Connection
) -> None:
    jobs = {
        "mail": ended_jobs(sql, 3000, queue="mail", seed=1),
        "crawl": ended_jobs(sql, 1000, queue="crawl", seed=2),
    }
    everything = [*jobs["mail"], *jobs["crawl"]]
    assert roll_up(store) == 4000
    assert roll_up(store) == 0
    history = store.history()
    told: list[tuple[EndCounts, list[tuple[str, float, float]]]] = [
        (history.total, everything),
        *((queue, jobs[queue.queue]) for queue in history.queues),
        (store.history(queue="mail").total, jobs["mail"]),
    ]
    assert len(told) == 4
    for ends, made in told:
        states = [state for state, _, _ in made]
        assert counts(ends) == tuple(
            states.count(state) for state in ("completed", "failed", "cancelled")
        )
        ran = [(wait, run) for state, wait, run in made if state != "cancelled"]
        for place, name in enumerate(("wait", "run")):
            times = sorted(job[place] for job in ran)
            assert getattr(ends, f"{name}_p50") == pytest.approx(median_low(times), rel=OFF)
            assert getattr(ends, f"{name}_p95") == pytest.approx(
                times[-(-len(times) * 95 // 100) - 1], rel=OFF
            )
            # By another definition it is another job, but not far from it.
            p95 = quantiles(times, n=20, method="inclusive")[-1]
            assert getattr(ends, f"{name}_p95") == pytest.approx(p95, rel=2 * OFF)


@pytest.mark.parametrize("queue", [None, "default"])
def test_buckets_of_any_step_add_up_to_the_whole(
    store: Store, sql: psycopg.Connection, queue: str | None
) -> None:
    ended_jobs(sql, 500, ago=(5 * MINUTE, 20 * HOUR))
    roll_up(store)
    ended_jobs(sql, 50, ago=(SECOND, 2 * SECOND), seed=2)
    for step in (5 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR):
        if queue is not None and step == 5 * MINUTE:
            continue
        history = store.history(step=step, queue=queue)
        whole = timedelta(hours=24)
        assert whole - 15 * MINUTE <= len(history.buckets) * step <= whole
        assert {b.at - a.at for a, b in pairwise(history.buckets)} == {step}
        summed = [sum(row) for row in zip(*map(counts, history.buckets), strict=True)]
        assert tuple(summed) == counts(history.total) == counts(history.queues[0])
        assert sum(summed) == 550
        assert history.buckets[0].at == history.since < history.until
        assert history.buckets[-1].at <= history.until < history.buckets[-1].at + step


def test_a_span_tells_of_its_own_time_alone(store: Store, sql: psycopg.Connection) -> None:
    ended_jobs(sql, 10, ago=(8 * HOUR, 9 * HOUR))
    ended_jobs(sql, 20, ago=(2 * MINUTE, 3 * MINUTE), seed=2)
    roll_up(store)
    hour = store.history(HOUR)
    assert sum(counts(hour.total)) == 20
    assert (hour.step_seconds, len(hour.buckets)) in ((300, 10), (300, 11), (300, 12))
    assert sum(counts(store.history(12 * HOUR).total)) == 30
    assert sum(counts(store.history(queue="other").total)) == 0


@pytest.mark.parametrize(
    ("span", "step"),
    [
        (25 * HOUR, None),
        (timedelta(0), None),
        (HOUR, 2 * HOUR),
        (HOUR, MINUTE),
        (HOUR, 20 * MINUTE),
    ],
)
def test_a_span_or_step_that_is_not_kept_is_refused(
    store: Store, span: timedelta, step: timedelta | None
) -> None:
    with pytest.raises(InputRefused, match="history"):
        store.history(span, step=step)


def test_a_step_that_is_not_kept_of_a_queue_is_refused(store: Store) -> None:
    assert store.history(HOUR, queue="mail").step_seconds == 900
    with pytest.raises(InputRefused, match="history"):
        store.history(HOUR, step=5 * MINUTE, queue="mail")


def test_a_history_is_read_in_one_moment(store: Store, clock: Clock, connect: Connect) -> None:
    """What is being rolled up meanwhile is neither missing nor there twice."""
    end_one(store)
    clock.advance(MINUTE)
    one = connect()
    assert send_on(one, upkeep.roll_up()).jobs == 1
    seen: History = store.history()
    assert counts(seen.total) == (1, 0, 0)
    one.commit()
    assert counts(store.history().total) == (1, 0, 0)
