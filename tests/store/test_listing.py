"""list_jobs: filtering and paging."""

import json
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import Intent, Reason, State, Status
from tenure.domain.policy import FILTERS
from tenure.errors import InputRefused
from tenure.store.store import Store
from tests.factories import make_job, make_worker


def found(store: Store, **filters: Any) -> list[int]:
    return [job.id for job in store.list_jobs(filters)]


def test_jobs_are_listed_newest_first_without_their_arguments(store: Store) -> None:
    first, second = make_job(store, args={"secret": 1}), make_job(store)
    jobs = store.list_jobs()
    assert [job.id for job in jobs] == [second, first]
    assert jobs[1].args is None


def test_every_filter_finds_what_it_names_and_nothing_else(store: Store) -> None:
    (wanted,) = store.enqueue(
        NewJob(
            task="crawl",
            queue="slow",
            target="site:x",
            owner="ann",
            tags=["red", "blue"],
            key="k",
            args={"site": "Example.org"},
        )
    )
    for _ in range(2):
        make_job(store, tags=["green"], key="other", owner="bob", target="site:y")
    matching: list[dict[str, Any]] = [
        {"task": "crawl"},
        {"queue": "slow"},
        {"target": "site:x"},
        {"owner": "ann"},
        {"tag": "blue"},
        {"key": "k"},
        {"text": "example.ORG", "queue": "slow"},
        {"root": wanted.id},
        {"id": wanted.id},
        {"id": str(wanted.id)},
        {"id": [wanted.id, str(wanted.id), 999]},
        {"queue": "slow", "tag": "red"},
    ]
    for filters in matching:
        assert found(store, **filters) == [wanted.id], filters
    assert found(store, queue="slow", tag="green") == []
    assert found(store, tag="re") == []


def test_jobs_are_found_by_status_and_by_state(store: Store) -> None:
    ready, later = make_job(store), make_job(store, delay=timedelta(hours=1))
    store.stop(over := make_job(store))
    assert found(store, status="queued") == [ready]
    assert found(store, status="scheduled") == [later]
    assert found(store, state="pending") == [later, ready]
    assert found(store, state="cancelled") == [over]
    assert store.list_jobs({"state": "cancelled"})[0].state is State.CANCELLED


def test_several_statuses_are_any_and_several_tags_and_texts_are_all(store: Store) -> None:
    ready = make_job(store, tags=["red", "big"], args={"site": "example.org", "pages": 3})
    later = make_job(store, tags=["red"], delay=timedelta(hours=1))
    store.stop(make_job(store))
    assert found(store, status=["queued", "scheduled"]) == [later, ready]
    assert found(store, status=["scheduled"], tag="red") == [later]
    assert found(store, tag=["red", "big"]) == [ready]
    assert found(store, tag=["red", "small"]) == []
    assert found(store, status="queued", text=["EXAMPLE", "pages"]) == [ready]
    assert found(store, status="queued", text=["example", "nowhere"]) == []
    assert found(store, status=["queued", "scheduled"], queue="none") == []
    assert store.bulk_preview({"status": ["queued", "scheduled"]}).reaches == 2


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        ({"status": []}, "takes 1 to 20 values"),
        ({"tag": ["a"] * 21}, "takes 1 to 20 values"),
        ({"status": ["queued", "asleep"]}, 'jobs cannot have the status "asleep"'),
        ({"tag": ["a", ""]}, "a filter by tag takes a text that is not empty"),
        ({"tag": ["a", 3]}, "a filter by tag takes a text that is not empty"),
        ({"queue": ["a", "b"]}, "a filter by queue takes a text"),
        ({"id": []}, "a filter by id takes 1 to 1000 ids"),
        ({"id": [1] * 1001}, "a filter by id takes 1 to 1000 ids"),
        ({"id": [1, "x"]}, "a filter by id takes the id of a job"),
        ({"parent": "any"}, "a filter by parent takes the id of a job, or .none."),
        ({"text": ["a", "b"]}, "text alone would be looked for in all jobs"),
    ],
)
def test_several_values_are_checked_one_by_one(store: Store, filters: Any, said: str) -> None:
    with pytest.raises(InputRefused, match=said):
        store.list_jobs(filters)


def test_jobs_are_found_by_parent_and_root(store: Store) -> None:
    root = make_job(store, task=None)
    child = make_job(store, parent=root)
    grandchild = make_job(store, parent=child)
    make_job(store)
    assert found(store, parent=root) == [child]
    assert root in found(store, parent="none")
    assert not {child, grandchild} & set(found(store, parent="none"))
    assert found(store, root=root) == [grandchild, child, root]


def test_jobs_are_found_by_worker(store: Store) -> None:
    for _ in range(2):
        make_job(store)
    one, other = make_worker(store), make_worker(store)
    job = one.claim_one()
    other.claim_one()
    assert found(store, worker=str(one.id)) == [job.id]


def test_jobs_are_found_by_when_they_were_made(store: Store, sql: psycopg.Connection) -> None:
    old, new = make_job(store), make_job(store)
    sql.execute("UPDATE tenure.job SET created_at = '2020-01-01Z' WHERE id = %s", (old,))
    assert found(store, since="2020-01-02Z") == [new]
    assert found(store, until="2020-01-02Z") == [old]
    assert found(store, since="2020-01-01Z", until="2020-01-01Z") == []
    assert found(store, since="2020-01-01Z") == [new, old]


def pages(store: Store, n: int) -> Iterator[list[int]]:
    below = None
    while page := store.list_jobs({"queue": "default"}, below=below, n=n):
        yield [job.id for job in page]
        below = page[-1].id


def test_pages_are_stable_while_jobs_come_and_change(store: Store) -> None:
    jobs = [make_job(store) for _ in range(5)]
    make_job(store, queue="other")
    seen = []
    for page in pages(store, 2):
        assert len(page) <= 2
        seen += page
        make_job(store)
        store.stop(store.list_jobs({"status": "queued"})[-1].id)
    assert seen == jobs[::-1]


def test_a_page_has_a_size(store: Store) -> None:
    make_job(store)
    for n in (0, -1, 1001):
        with pytest.raises(InputRefused, match="a page of"):
            store.list_jobs(n=n)


REFUSED: list[tuple[Any, str]] = [
    ({"colour": "red"}, 'cannot be filtered by "?colour'),
    ({"status": "asleep"}, 'status "asleep"; they can be pending, scheduled'),
    ({"status": 5}, "status 5; they can be"),
    ({"state": "queued"}, 'state "queued"; they can be pending, running'),
    ({"state": ["pending"]}, "they can be pending, running"),
    ({"parent": "x"}, 'parent takes the id of a job, or "none", and "x" is neither'),
    ({"root": 1.5}, "root takes the id of a job, and 1.5 is none"),
    ({"id": 10**30}, "id takes the id of a job"),
    ({"worker": "x"}, 'which is a UUID, and "x" is none'),
    ({"since": "soon"}, 'a timestamp such as "2030-01-31T12:00:00Z", and "soon" is none'),
    ({"until": "2030-02-31"}, "a timestamp such as"),
    ({"queue": None}, "queue takes a text that is not empty, and null is none"),
    ({"owner": ""}, 'owner takes a text that is not empty, and "" is none'),
    ({"text": {}}, "text takes a text that is not empty"),
    ([], "by a JSON object such as"),
    ("x", "by a JSON object such as"),
]


@pytest.mark.parametrize(("written", "why"), REFUSED)
def test_a_filter_that_makes_no_sense_is_refused_with_a_sentence(
    written: Any, why: str, sql: psycopg.Connection
) -> None:
    with pytest.raises(psycopg.Error, match=why.replace('"?', ".?")) as refused:
        sql.execute("SELECT tenure.list_jobs(%s)", (json.dumps(written),))
    assert refused.value.sqlstate == "TN001"


def test_the_store_refuses_in_the_same_words(store: Store) -> None:
    with pytest.raises(InputRefused, match=r"the filters are id, status, "):
        store.list_jobs({"colour": "red"})
    with pytest.raises(InputRefused, match="the id of a job"):
        store.list_jobs({"parent": "x"})


def test_names_of_filters_and_statuses_are_the_same_in_python_and_in_sql(
    sql: psycopg.Connection,
) -> None:
    def complaint(filters: dict[str, Any]) -> str | None:
        row = sql.execute("SELECT tenure.filter_error(%s)", (json.dumps(filters),)).fetchone()
        assert row is not None
        sentence: str | None = row[0]
        return sentence

    assert f"the filters are {', '.join(FILTERS)}" in (complaint({"colour": "red"}) or "")
    assert str(complaint({"status": "x"})).endswith(f"they can be {', '.join(Status)}")
    for status in Status:
        assert complaint({"status": status}) is None


def test_what_is_secret_is_not_found_by_its_text(store: Store) -> None:
    job = make_job(
        store, args={"user": "ann", "password": "hunter2"}, options={"secret": ["password"]}
    )
    assert found(store, text="ANN", state="pending") == [job]
    assert found(store, text="hunter2", state="pending") == []


def test_a_filter_by_status_finds_what_has_this_status(
    store: Store, sql: psycopg.Connection
) -> None:
    """Every combination that a status is made of, whether or not a job can come to it."""
    worker, leaving = make_worker(store), make_worker(store)
    store.drain(leaving.id)
    for intent in (Intent.CANCEL, Intent.PAUSE):
        store.stop(make_job(store), intent=intent)
    reasons = ("NULL", *(f"'{why}'" for why in Reason))
    places: list[tuple[str, str, UUID | None]] = [("pending", why, None) for why in reasons]
    places += [("running", "NULL", one.id) for one in (worker, leaving)]
    places += [(state, "NULL", None) for state in ("paused", "completed", "failed", "cancelled")]
    for stop in (None, 1, 2):
        for attempt in (0, 2):
            for state, reason, held_by in places:
                job = make_job(store)
                change = f"""
                    UPDATE tenure.job SET state = '{state}', waiting = {reason},
                        ready = {state == "pending" and reason == "NULL"},
                        attempt = %s, worker_id = %s, stop_id = %s,
                        ended_at = CASE WHEN '{state}' IN ('completed', 'failed', 'cancelled')
                            THEN tenure.now() END
                    WHERE id = %s"""
                sql.execute(change.encode(), (attempt, held_by, stop, job))
                if reason == "'task'":
                    unannounced = "INSERT INTO tenure.unannounced VALUES (%s, 'work', '{}')"
                    sql.execute(unannounced.encode(), (job,))
    said: dict[str, list[int]] = {status: [] for status in Status}
    for job_id, status in sql.execute("SELECT id, status FROM tenure.jobs ORDER BY id DESC"):
        said[status].append(job_id)
    assert all(said.values())
    assert {status: found(store, status=status) for status in Status} == said


def test_a_page_of_a_rare_status_does_not_read_all_jobs(
    store: Store, sql: psycopg.Connection
) -> None:
    store.enqueue_many(NewJob(task="work"), [{}] * 5000)
    sql.execute("UPDATE tenure.job SET state = 'completed', ready = false, ended_at = tenure.now()")
    rare = make_job(store, queue="rare")
    store.stop(rare)
    sql.execute("VACUUM ANALYZE tenure.job")
    for filters in ({"status": "cancelled"}, {"status": "queued"}, {"status": "running"}):
        filtered = sql.execute("SELECT tenure.filtered_jobs(%s)", (json.dumps(filters),)).fetchone()
        assert filtered is not None
        plan = (
            f"EXPLAIN (ANALYZE, FORMAT JSON) SELECT j.id {filtered[0]} ORDER BY j.id DESC LIMIT 9"
        )
        ((told,),) = sql.execute(plan.encode()).fetchall()
        read = re.findall(r'"(?:Actual Rows|Rows Removed by Filter)": ([0-9]+)', json.dumps(told))
        assert sum(map(int, read)) < 100, told


@pytest.mark.parametrize("filters", [{"text": "x"}, {"text": "x", "until": "2030-01-01T00:00:00Z"}])
def test_text_alone_is_not_looked_for(store: Store, filters: dict[str, Any]) -> None:
    make_job(store, args={"x": "x"})
    with pytest.raises(InputRefused, match="text alone would be looked for in all jobs; add"):
        store.list_jobs(filters)
    with pytest.raises(InputRefused, match="text alone would be looked for in all jobs; add"):
        store.bulk_preview(filters)
    since = {**filters, "since": "2020-01-01T00:00:00Z"}
    assert len(store.list_jobs(since)) == 1
    assert store.bulk_preview(since).total == 1
