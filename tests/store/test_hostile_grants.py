"""Requests for grants and reservations that no runner of Tenure would send."""

from typing import Any

import pytest

from tenure.errors import InputRefused
from tenure.store.outcomes import Report
from tenure.store.store import Store
from tests.store.test_grants import ask, running, settle

RATES = {"calls": {"amount": 10, "per": "10h"}, "tokens": {"amount": 100, "per": "10h"}}


@pytest.mark.parametrize(
    "wanted",
    [
        {"limit": "api", "amounts": {"tokens": -50}},
        {"limit": "api", "amounts": {"calls": -5}},
        {"limit": "api", "amounts": {"calls": 0}},
        {"limit": "api", "amounts": {"tokens": "5"}},
        {"limit": "api", "amounts": {"tokens": 1e300}},
        {"limit": "api", "amounts": 5},
        {"limit": 5},
        {"limit": "x" * 5000},
        {"limit": ""},
        {"reserve": {"tokens": -50}},
        {"reserve": {"tokens": None}},
        {"reserve": [5]},
        {"reserve": {"u" * 5000: 1}},
        {},
    ],
)
def test_a_request_that_is_none_is_refused(store: Store, wanted: dict[str, Any]) -> None:
    store.set_limit("api", RATES)
    worker, [job] = running(store, budget={"tokens": 10})
    with pytest.raises(InputRefused):
        ask(worker, job, **wanted)
    assert ask(worker, job, limit="api", amounts={"tokens": 100}).granted
    assert not ask(worker, job, 2, limit="api", amounts={"tokens": 1}).granted
    assert ask(worker, job, 3, reserve={"tokens": 11}).exhausted


@pytest.mark.parametrize("number", [0, -1, "x", None, 1e30, 1.5])
def test_a_request_has_a_number(store: Store, number: Any) -> None:
    worker, [job] = running(store)
    asks: list[Any] = [{"number": number, "limit": "api"}]
    with pytest.raises(InputRefused):
        store.report(worker.id, [Report(job=job.id, token=job.token, asks=asks)])


@pytest.mark.parametrize(
    "said",
    [
        {"used": {"tokens": -1000}},
        {"used": {"calls": -1000}},
        {"used": {"tokens": "x"}},
        {"used": {"tokens": 1e300}},
        {"used": 5},
        {"retry_after": -1},
        {"retry_after": 1e300},
        {"retry_after": "soon"},
    ],
)
def test_a_correction_that_is_none_is_refused(store: Store, said: dict[str, Any]) -> None:
    store.set_limit("api", RATES)
    worker, [job] = running(store)
    assert ask(worker, job, limit="api", amounts={"tokens": 50}).granted
    with pytest.raises(InputRefused):
        settle(worker, job, **said)
    [name] = store.limits("api")[0].names
    assert (name.closed, name.in_use) == (None, 1)
    assert name.levels["tokens"] < 51
