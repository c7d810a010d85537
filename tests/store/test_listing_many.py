"""Pages out of many jobs: the right ones, and without reading all that ever were."""

import json
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest
from bench.page_filling import fill

from tenure.store.store import Store

MANY = 60_000


@pytest.fixture
def filled(store: Store, sql: psycopg.Connection) -> psycopg.Connection:
    fill(sql, MANY)
    return sql


def moment_of(sql: psycopg.Connection, job: int) -> datetime:
    row = sql.execute("SELECT created_at FROM tenure.job WHERE id = %s", (job,)).fetchone()
    assert row is not None
    moment: datetime = row[0]
    return moment


def buffers(sql: psycopg.Connection, filters: dict[str, Any]) -> int:
    text = json.dumps(filters)
    sql.execute("SELECT tenure.list_jobs(%s)", (text,))  # planned once before
    explain = "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT tenure.list_jobs(%s)"
    row = sql.execute(explain.encode(), (text,)).fetchone()
    assert row is not None
    plan = row[0][0]["Plan"]
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


def test_a_time_is_found_wherever_it_lies(store: Store, filled: psycopg.Connection) -> None:
    for job in (1, 2, 777, 30_000, MANY - 1, MANY):
        at = moment_of(filled, job)
        since = [one.id for one in store.list_jobs({"since": at}, n=5)]
        assert since == [one for one in range(MANY, MANY - 5, -1) if one >= job]
        until = [one.id for one in store.list_jobs({"until": at}, n=5)]
        assert until == [one for one in range(job - 1, job - 6, -1) if one > 0]
        both = {"since": at, "until": at + timedelta(microseconds=1)}
        assert [one.id for one in store.list_jobs(both)] == [job]
        assert [one.id for one in store.list_jobs({"until": at}, below=3)] == [
            one for one in (2, 1) if one < job
        ]
    assert store.list_jobs({"since": moment_of(filled, MANY) + timedelta(days=400)}) == ()


def test_a_job_that_was_created_out_of_order_is_found(
    store: Store, filled: psycopg.Connection
) -> None:
    early, late = moment_of(filled, 20_000), moment_of(filled, 40_000)
    for job, at in ((25_000, early), (35_000, late)):
        filled.execute("UPDATE tenure.job SET created_at = %s WHERE id = %s", (at, job))
    until = store.list_jobs({"until": early + timedelta(microseconds=1)}, n=3)
    assert [one.id for one in until] == [25_000, 20_000, 19_999]
    since = {"since": late, "until": late + timedelta(microseconds=1)}
    assert [one.id for one in store.list_jobs(since)] == [40_000, 35_000]


def test_a_page_does_not_read_all_jobs(filled: psycopg.Connection) -> None:
    old, day = moment_of(filled, 100).isoformat(), moment_of(filled, 2_000).isoformat()
    ((pages,),) = filled.execute("SELECT pg_relation_size('tenure.job') / 8192").fetchall()
    wanted: dict[str, dict[str, Any]] = {
        "target": {"target": "site:rare"},
        "since": {"since": moment_of(filled, MANY - 10).isoformat()},
        "until": {"until": old},
        "both": {"since": old, "until": day},
        "text in a day": {"since": old, "until": day, "text": "nothing"},
    }
    read = {name: buffers(filled, filters) for name, filters in wanted.items()}
    assert {name: n for name, n in read.items() if n > pages * 0.7} == {}
