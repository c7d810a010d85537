"""Counting recent ends does not read older jobs, whatever statistics the planner has."""

import psycopg
import pytest

from tenure.domain.job import NewJob
from tenure.store.calls import queries, upkeep
from tenure.store.store import Store
from tests.store.test_plans import Scene, cost

pytestmark = pytest.mark.fresh_database

MANY = 20_000
VERBS = ("roll_up", "history")


def ended(store: Store, sql: psycopg.Connection, n: int, ago: str) -> None:
    store.enqueue_many(NewJob(task="work"), [{}] * n)
    sql.execute(
        "UPDATE tenure.job SET state = 'completed', ready = false,"
        " ended_at = tenure.now() - %s::interval,"
        " started_at = tenure.now() - %s::interval WHERE state = 'pending'",
        (ago, ago),
    )


@pytest.mark.parametrize(
    "analyzed", ["never", "when empty", "afterwards", "and planned when small"]
)
def test_counting_recent_ends_does_not_read_older_jobs(
    store: Store, sql: psycopg.Connection, analyzed: str
) -> None:
    scene = Scene(sql, {"roll_up": upkeep.roll_up(), "history": queries.history()})
    ended(store, sql, 20, "1 minute")
    store.roll_up()
    sql.execute("UPDATE tenure.job SET ended_at = tenure.now() - interval '6 s'")
    small = {verb: cost(scene, verb) for verb in VERBS}
    if analyzed != "never":
        sql.execute("ANALYZE")
    if analyzed == "and planned when small":
        for verb in VERBS * 6:
            cost(scene, verb)
    ended(store, sql, MANY, "10 hours")
    sql.execute("SELECT brin_summarize_new_values('tenure.job_ended')")
    if analyzed == "afterwards":
        sql.execute("ANALYZE")

    for verb in VERBS:
        seen = cost(scene, verb)
        assert "job" not in seen.scanned, verb
        assert seen.buffers <= small[verb].buffers + 100, verb
