"""Objects whose times are exact, so that the drawings of their pages are the same in every run."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import Rung
from tenure.store.outcomes import LogLine, Report
from tenure.store.results import Claimed
from tenure.store.store import Store
from tests.factories import make_job, make_worker, promote

BEGIN = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
_INSTALL = """
    CREATE SCHEMA tenure_still;
    CREATE TABLE tenure_still.clock (at timestamptz NOT NULL);
    CREATE OR REPLACE FUNCTION tenure.now() RETURNS timestamptz LANGUAGE sql VOLATILE
    RETURN (SELECT at FROM tenure_still.clock)
"""


class StillClock:
    """The clock of a database, which stands still between two calls of ``at``."""

    def __init__(self, sql: psycopg.Connection) -> None:
        self._sql = sql
        sql.execute(_INSTALL)
        sql.execute("INSERT INTO tenure_still.clock VALUES (%s)", (BEGIN,))

    def at(self, seconds: float) -> datetime:
        """Go to a time, in seconds since the beginning, and return it."""
        time = BEGIN + timedelta(seconds=seconds)
        self._sql.execute("UPDATE tenure_still.clock SET at = %s", (time,))
        return time


class Stopped:
    """A family that was cancelled, with jobs that obeyed at once, late and not at all."""

    def __init__(self, store: Store, clock: StillClock) -> None:
        self._store, self._clock = store, clock
        self.worker = make_worker(store, timedelta(days=1))
        clock.at(0)
        budget = {"tokens": 20_000}
        args = {"site": "https://shop.example", "pages": 1200, "language": "en"}
        self.parent = make_job(
            store,
            "shop.crawl_all",
            owner="ann",
            queue="crawl",
            key="nightly-shop",
            tags=["eu", "nightly"],
            args=args,
            budget=budget,
            max_attempts=3,
        )
        promote(store)
        clock.at(4)
        self.held: dict[int, Claimed] = {}
        self._claim()
        self._report(self.parent, logs=[LogLine("reading the map of the site")])
        clock.at(9)
        sites = ("sofas", "lamps", "rugs", "tables", "chairs")
        drafts = [
            NewJob(task="shop.crawl", parent=self.parent, queue="crawl", args={"part": site})
            for site in sites
        ]
        self.children = [one.id for one in store.enqueue(drafts)]
        promote(store)
        clock.at(12)
        self._claim(4)
        self._work()
        self._stop()

    def _claim(self, n: int = 1) -> None:
        self.held.update((one.id, one) for one in self.worker.claim(n))

    def _report(self, job: int, **news: Any) -> None:
        self._store.report(self.worker.id, [Report(job=job, token=self.held[job].token, **news)])

    def _work(self) -> None:
        steps = [{"name": "plan", "digest": "d", "attempts": 1, "took": 6.0, "value": {"parts": 5}}]
        self._clock.at(10)
        self._report(self.parent, steps=steps)
        for n, second in enumerate((20, 31, 38, 52, 66)):
            self._clock.at(second)
            progress = {"done": 240 * (n + 1), "total": 1500, "message": f"part {n + 1} of 5"}
            spent = {"tokens": 1500 + 700 * n}
            logs = [LogLine(f"part {n + 1}: 240 pages"), LogLine("slow answer", "warning")]
            self._report(
                self.parent, progress=progress, checkpoint={"part": n}, spent=spent, logs=logs
            )
            self._report(self.parent, partials=[{"part": n, "pages": 240}])
        first, second_child, third, *_ = self.children
        self._clock.at(40)
        self.worker.finish(self.held[first], value={"pages": 240})
        self._clock.at(44)
        error = {"type": "TimeoutError", "message": "lamps did not answer within 30 s"}
        retry = {"error": error, "run_at": BEGIN + timedelta(seconds=50)}
        self.worker.finish(self.held[second_child], "retry", **retry)
        self._clock.at(51)
        promote(self._store)
        self._claim(2)
        self._clock.at(60)
        self.worker.finish(self.held[third], "failed", error={"type": "E", "message": "no rugs"})

    def _stop(self) -> None:
        begun = self._clock.at(70)
        self.record = self._store.stop(
            self.parent,
            reason="the customer left",
            by="ann",
            grace=timedelta(seconds=10),
        ).cancellation_id

        def time(seconds: float) -> str:
            return (begun + timedelta(seconds=seconds)).isoformat()

        obedient, late, parent = self.children[1], self.children[3], self.parent
        asked = {"delivered": time(0.2), "asked": time(0.3)}
        self._clock.at(72)
        self._end(obedient, Rung.ASKED, asked)
        self._clock.at(81.5)
        self._end(late, Rung.INTERRUPTED, {**asked, "interrupted": time(10.3)})
        self._clock.at(88)
        last = self.children[4]
        interrupted = {**asked, "interrupted": time(10.3)}
        if last in self.held:
            self._end(last, Rung.INTERRUPTED, interrupted)
        climbed = {**interrupted, "terminated": time(13.3), "killed": time(17.3)}
        self._end(parent, Rung.KILLED, climbed, pids=(4107, 4112, 4113), processes=3)
        self._clock.at(88.4)
        promote(self._store)

    def _end(self, job: int, rung: Rung, reached: dict[str, str], **more: Any) -> None:
        claimed = self.held[job]
        more = {"reached": reached, "cleanup": {"closed": []}, **more}
        self.worker.finish(claimed, "stopped", rung=rung, heard=True, **more)


def failed(store: Store, clock: StillClock) -> int:
    """A job that failed at its second attempt, with a traceback, waits and jobs around it."""
    worker = make_worker(store, timedelta(days=1))
    clock.at(200)
    before = make_job(store, "shop.prices", owner="ben")
    job = make_job(
        store,
        "shop.pay",
        owner="ben",
        key="order-1187",
        after=[before],
        max_attempts=2,
        args={"order": 1187, "amount": "24.90", "currency": "EUR"},
    )
    make_job(store, "shop.receipt", owner="ben", after=[job])
    promote(store)
    clock.at(203)
    worker.finish(worker.claim_one(), value={"price": "24.90"})
    promote(store)
    clock.at(205)
    error = {
        "type": "CardRefused",
        "message": "the bank refused the card: insufficient funds",
        "traceback": 'Traceback (most recent call last):\n  File "shop/pay.py", line 31, in pay\n'
        "    raise CardRefused(answer.reason)\nCardRefused: insufficient funds",
    }
    for begin, end in ((205, 211), (226, 230)):
        clock.at(begin)
        promote(store)
        held = worker.claim_one()
        clock.at(end)
        if end == 230:
            worker.finish(held, "failed", error=error)
        else:
            worker.finish(held, "retry", error=error, run_at=BEGIN + timedelta(seconds=226))
    promote(store)
    return job


def flow(store: Store, clock: StillClock) -> None:
    """Two hours of jobs: a steady flow, a slow quarter of an hour, and failures in it."""
    worker = make_worker(store, timedelta(days=1))
    error = {"type": "TimeoutError", "message": "the shop does not answer"}
    for minute, jobs, seconds, wrong in _minutes():
        clock.at(60 * minute)
        store.enqueue([NewJob(task="shop.crawl", queue="crawl", max_attempts=1)] * jobs)
        promote(store)
        clock.at(60 * minute + seconds / 4)
        held = worker.claim(jobs)
        clock.at(60 * minute + seconds)
        for job in held[:wrong]:
            worker.finish(job, "failed", error=error)
        for job in held[wrong:]:
            worker.finish(job)
        store.roll_up()
    clock.at(60 * 121)


def _minutes() -> Iterator[tuple[int, int, float, int]]:
    for minute in range(2, 120, 4):
        is_slow = 60 <= minute < 80
        yield minute, 3 if is_slow else 4 + minute % 5, 40 if is_slow else 6, 2 if is_slow else 0
