"""Arguments that a job calls secret: its worker gets them, nobody else is shown them."""

import psycopg
import pytest

from tenure.domain.lifecycle import State
from tenure.errors import InputRefused
from tenure.store.store import Store
from tests.factories import make_job, make_job_in, make_worker

ARGS = {"user": "ann", "password": "hunter2", "nested": {"key": "hunter2x"}}
SHOWN = {"user": "ann", "password": "***", "nested": "***"}
SECRET = {"secret": ["password", "nested"]}


def everything(sql: psycopg.Connection, job: int) -> str:
    """All that people can look at."""
    views = [
        f"SELECT tenure.show({job})::text",
        f"SELECT tenure.explain({job})::text",
        "SELECT tenure.list_jobs()::text",
        "SELECT to_json(j)::text FROM tenure.jobs AS j",
        "SELECT tenure.cancellations()::text",
        "SELECT tenure.audit_log()::text",
        "SELECT tenure.workers()::text",
    ]
    return str([sql.execute(view.encode()).fetchall() for view in views])


def test_whoever_looks_sees_stars(store: Store, sql: psycopg.Connection) -> None:
    job = make_job(store, args=ARGS, options=SECRET)
    assert store.show(job).args == SHOWN
    store.stop(job)
    store.rerun(job)
    assert "hunter2" not in everything(sql, job)


def test_the_worker_gets_the_real_ones_and_so_does_a_rerun(store: Store) -> None:
    old = make_job_in(store, State.FAILED, args=ARGS, options=SECRET)
    again = store.rerun(old)
    assert again.args == SHOWN
    worker = make_worker(store)
    assert worker.claim_one().args == ARGS


def test_nobody_finds_a_secret_by_its_text(store: Store) -> None:
    job = make_job(store, args=ARGS, options=SECRET)
    open_one = make_job(store, args={"note": "hunter2"})
    assert [found.id for found in store.list_jobs({"queue": "default", "text": "hunter2"})] == [
        open_one
    ]
    assert [found.id for found in store.list_jobs({"queue": "default", "text": "ann"})] == [job]


def test_what_is_no_secret_is_shown_as_it_is(store: Store) -> None:
    plain = make_job(store, args=ARGS)
    assert store.show(plain).args == ARGS
    none = make_job(store, args={}, options=SECRET)
    assert store.show(none).args == {}
    empty = make_job(store, args=ARGS, options={"secret": []})
    assert store.show(empty).args == ARGS


@pytest.mark.parametrize("secret", ["password", {"password": True}, [1], None])
def test_a_mark_that_would_hide_nothing_is_refused(store: Store, secret: object) -> None:
    with pytest.raises(InputRefused, match=r"secret.*list of names of arguments"):
        make_job(store, args=ARGS, options={"secret": secret})
