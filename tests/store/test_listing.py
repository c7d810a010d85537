"""list_jobs: filtering and paging."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import State
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
        {"text": "example.ORG"},
        {"root": wanted.id},
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


def test_jobs_are_found_by_parent_and_root(store: Store) -> None:
    root = make_job(store, task=None)
    child = make_job(store, parent=root)
    grandchild = make_job(store, parent=child)
    make_job(store)
    assert found(store, parent=root) == [child]
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


def test_a_page_has_a_size_and_a_filter_makes_sense(store: Store) -> None:
    make_job(store)
    for n in (0, -1, 1001):
        with pytest.raises(InputRefused, match="a page of"):
            store.list_jobs(n=n)
    for filters in ({"colour": "red"}, {"parent": "x"}, {"worker": "x"}, {"since": "x"}):
        with pytest.raises(InputRefused):
            store.list_jobs(filters)
