"""Reading a policy: what it may contain, and the error messages for what it may not."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from tenure.domain.lifecycle import Intent
from tenure.domain.policy import read_filter, read_policy
from tenure.errors import InputRefused

AGE = {"when": {"age": "1h"}}

READ: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (AGE, {"when": {"age": "1h"}}),
    ({"when": {"age": timedelta(minutes=90)}}, {"when": {"age": "1h30m"}}),
    ({"when": {"running": 90}}, {"when": {"running": "1m30s"}}),
    ({**AGE, "intent": Intent.PAUSE}, {**AGE, "intent": "pause"}),
    ({**AGE, "strategy": None, "reason": None}, AGE),
    (
        {**AGE, "strategy": "patient", "reason": "no"},
        {**AGE, "strategy": "patient", "reason": "no"},
    ),
    ({**AGE, "filter": {"queue": "slow"}}, {**AGE, "filter": {"queue": "slow"}}),
    (
        {"when": {"at": datetime(2030, 1, 1, tzinfo=UTC)}},
        {"when": {"at": "2030-01-01T00:00:00+00:00"}},
    ),
    ({"when": {"at": "2030-01-01T00:00:00Z"}}, {"when": {"at": "2030-01-01T00:00:00+00:00"}}),
    ({"when": {"superseded": True}}, {"when": {"superseded": True}}),
    (
        {"when": {"budget": {"tokens": 0.9, "money": {"above": 5}}}},
        {"when": {"budget": {"tokens": 0.9, "money": {"above": 5}}}},
    ),
    (
        {"when": {"error_rate": {"above": 0.5}}},
        {"when": {"error_rate": {"above": 0.5, "within": "1h"}}},
    ),
]


@pytest.mark.parametrize(("written", "read"), READ)
def test_a_policy_is_read_as_json(written: dict[str, Any], read: dict[str, Any]) -> None:
    assert read_policy(written) == read
    assert read_policy(read) == read


REFUSED: list[tuple[Any, str]] = [
    ([], "a policy: it takes names with their values, not []"),
    ({}, "a policy needs a condition: one or more of at, age, running, waiting, budget"),
    ({"when": {}}, "a policy needs a condition"),
    ({"when": []}, "when: it takes names with their values, not []"),
    ({**AGE, "colour": "red"}, "a policy has no 'colour'; it has filter, when, intent"),
    ({"when": {"rain": True}}, "when has no 'rain'; it has at, age"),
    ({**AGE, "intent": "stop"}, "a policy cancels or pauses; 'stop' is neither"),
    ({**AGE, "strategy": ""}, "strategy: it takes a text that is not empty, not ''"),
    ({**AGE, "reason": 5}, "reason: it takes a text that is not empty, not 5"),
    (
        {**AGE, "filter": {"colour": 1}},
        "jobs cannot be filtered by 'colour'; the filters are id, status",
    ),
    ({**AGE, "filter": "slow"}, "a filter of jobs: it takes names with their values, not 'slow'"),
    ({"when": {"age": "soon"}}, "age: 'soon' is not a duration"),
    ({"when": {"age": "0s"}}, "age: it must be longer than 0s"),
    (
        {"when": {"waiting": timedelta(days=40_000)}},
        "longer than 0s, and at most 36500 days",
    ),
    ({"when": {"age": "5"}}, "age: '5' has no unit"),
    ({"when": {"at": "soon"}}, "at: it takes a time such as '2030-01-31T12:00:00Z', not 'soon'"),
    ({"when": {"at": "2030-01-01T00:00:00"}}, "at: 2030-01-01T00:00:00 has no time zone"),
    ({"when": {"at": 5}}, "at: it takes a time"),
    ({"when": {"superseded": False}}, "superseded: it is True or left out, not False"),
    ({"when": {"parent_failed": 1}}, "parent_failed: it is True or left out, not 1"),
    ({"when": {"budget": {}}}, "budget: it takes {'unit': share} or"),
    ({"when": {"budget": {"tokens": 0}}}, "a share of the budget of tokens above 0 and up to 1"),
    ({"when": {"budget": {"tokens": 1.1}}}, "not 1.1"),
    ({"when": {"budget": {"tokens": True}}}, "not True"),
    ({"when": {"budget": {"tokens": {"above": -1}}}}, "{'above': amount}, not {'above': -1}"),
    ({"when": {"budget": {"tokens": {"below": 1}}}}, "not {'below': 1}"),
    ({"when": {"error_rate": 0.5}}, "error_rate: it takes names with their values, not 0.5"),
    ({"when": {"error_rate": {}}}, "'above' is a share from 0 to less than 1, not None"),
    ({"when": {"error_rate": {"above": 1}}}, "'above' is a share from 0 to less than 1, not 1"),
    ({"when": {"error_rate": {"above": 0.5, "of": 0}}}, "'of' is a number of jobs from 1 to 1000"),
    ({"when": {"error_rate": {"above": 0.5, "by": "day"}}}, "'by' is queue, task, tag, not 'day'"),
    ({"when": {"error_rate": {"above": 0.5, "in": "1h"}}}, "error_rate has no 'in'"),
    ({"when": {"error_rate": {"above": 0.5, "within": "x"}}}, "'within': 'x' is not a duration"),
    ({"when": {"error_rate": {"above": 0.5, "by": "tag"}}}, "needs a tag in the filter"),
]


@pytest.mark.parametrize(("written", "why"), REFUSED)
def test_what_is_no_policy_is_refused_with_a_sentence(written: Any, why: str) -> None:
    with pytest.raises(InputRefused) as refused:
        read_policy(written)
    assert why in str(refused.value)


def test_moments_in_a_filter_are_written_with_their_zone() -> None:
    zone = timezone(timedelta(hours=2))
    since = datetime(2030, 1, 1, tzinfo=zone)
    assert read_filter({"since": since, "queue": "slow"}) == {
        "since": "2030-01-01T00:00:00+02:00",
        "queue": "slow",
    }
    with pytest.raises(InputRefused, match="has no time zone"):
        read_filter({"until": since.replace(tzinfo=None)})
