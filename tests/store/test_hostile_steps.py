"""Steps that no runner of Tenure would send, and edits of steps that no reader could take."""

import json
from typing import Any

import msgspec
import psycopg
import pytest

from tenure.errors import InputRefused
from tenure.store.outcomes import Report
from tenure.store.store import Store
from tests.factories import Worker, make_job, make_worker, promote

FINE: dict[str, Any] = {"name": "plan", "digest": "d", "value": 1, "attempts": 1, "took": 1}


def raw(step: dict[str, Any]) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(step).encode())


def running(store: Store) -> tuple[Worker, Any]:
    make_job(store)
    worker = make_worker(store)
    promote(store)
    return worker, worker.claim_one()


@pytest.mark.parametrize(
    "wrong",
    [
        {"digest": None},
        {"digest": ""},
        {"digest": "d" * 5000},
        {"attempts": "x"},
        {"attempts": 10**30},
        {"took": -1},
        {"took": 1e300},
        {"took": None},
        {"spent": {"tokens": -5}},
        {"spent": 5},
        {"artifact": "a" * 5000},
        {"name": None},
    ],
)
def test_a_step_that_is_none_is_refused(store: Store, wrong: dict[str, Any]) -> None:
    worker, job = running(store)
    with pytest.raises(InputRefused, match="a step has a name"):
        store.report(worker.id, [Report(job=job.id, token=job.token, steps=[raw(FINE | wrong)])])
    assert store.steps(job.id) == ()


WAIT: dict[str, Any] = {"name": "w", "digest": "d", "kind": "sleep", "within": 5}
ASKED = {"kind": "question", "question": {"text": "Well?", "schema": {}}}


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": None},
        {"digest": None},
        {"kind": "step"},
        {"kind": None},
        {"within": -1},
        {"within": 1e300},
        {"within": "soon"},
        {"kind": "event"},
        {"kind": "event", "event": "paid", "key": "k" * 5000},
        {"kind": "event", "event": "", "key": ""},
        {"kind": "question"},
        {**ASKED, "question": {"text": 5, "schema": {}}},
        {**ASKED, "question": {"text": "Well?"}},
        {**ASKED, "question": {"text": "Well?", "schema": {}, "role": "king"}},
        {**ASKED, "event": "paid", "key": ""},
    ],
)
def test_a_wait_that_is_none_is_refused(store: Store, wrong: dict[str, Any]) -> None:
    worker, job = running(store)
    with pytest.raises(InputRefused, match="a wait has a name"):
        store.await_step(worker.id, job.id, job.token, {**WAIT, **wrong})
    assert store.steps(job.id) == ()


DEEP = "[" * 3000 + "]" * 3000


@pytest.mark.parametrize("value", [DEEP, "1e400", '"' + "x" * (5 << 20) + '"'])
def test_an_edit_that_no_reader_can_take_is_refused(
    store: Store, sql: psycopg.Connection, value: str
) -> None:
    worker, job = running(store)
    store.report(worker.id, [Report(job=job.id, token=job.token, steps=[raw(FINE)])])
    with pytest.raises(psycopg.Error, match="the value of step plan"):
        sql.execute(
            "SELECT tenure.rerun(%s, steps => jsonb_build_object('plan', %s::jsonb))",
            (job.id, value),
        )
    assert sql.execute("SELECT FROM tenure.job").rowcount == 1
