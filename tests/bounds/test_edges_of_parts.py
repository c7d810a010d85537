"""What stands inside a field of a job has the same bounds at every door."""

from typing import Any

import pytest

from tenure.domain.bounds import BOUNDS, JOB, MAX_LEVELS, Count, DurationRange, Number, Text
from tenure.domain.duration import duration, in_words
from tenure.errors import InputRefused
from tests.bounds.doors import Doors, Refusal, by_name, by_rest, by_sql, dumped, sql
from tests.bounds.edges import beyond, nested, within

DOORS = {"python": by_name, "sql": by_sql, "rest": by_rest}
RETRY = [name.removeprefix("retry_") for name in BOUNDS if name.startswith("retry_")]


def tried(doors: Doors, door: str, field: str, value: Any) -> str | None:
    """Return what the door says against it; none if it is taken."""
    try:
        if door == "sql" and field == "retry":
            sql(doors, "SELECT tenure.enqueue(%s::jsonb)", dumped({"options": {field: value}}))
        else:
            DOORS[door](doors, field, value)
    except Refusal as refusal:
        return str(refusal)
    return None


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("name", RETRY)
def test_each_part_of_a_retry_is_bounded(doors: Doors, name: str, door: str) -> None:
    bound = BOUNDS[f"retry_{name}"]
    for value in within(bound):
        # A base is never above the cap.
        whole = (
            {"cap": in_words(DurationRange().max), name: value} if name == "base" else {name: value}
        )
        whole = {"base": "0s", name: value} if name == "cap" else whole
        assert tried(doors, door, "retry", whole) is None, value
    for value in beyond(bound):
        assert tried(doors, door, "retry", {name: value}), str(value)[:100]


@pytest.mark.parametrize("door", DOORS)
def test_the_units_and_limits_of_a_budget_are_bounded(doors: Doors, door: str) -> None:
    unit, amount, units = JOB["unit"], JOB["amount"], JOB["budget"]
    assert isinstance(unit, Text)
    assert isinstance(amount, Number)
    assert isinstance(units, Count)
    for budget in (
        {"ü" * unit.max: amount.max},
        {"x": amount.min},
        {f"u{number}": 1 for number in range(units.max)},
    ):
        assert tried(doors, door, "budget", budget) is None
    for wrong in (
        *({"x" * (unit.max + 1): 1}, {"": 1}, {"a\0b": 1}),
        *({"x": value} for value in beyond(amount)),
        {f"u{number}": 1 for number in range(units.max + 1)},
        *("x", 5, [1], True),
    ):
        assert tried(doors, door, "budget", wrong), str(wrong)[:100]


@pytest.mark.parametrize("door", DOORS)
def test_what_a_job_comes_after_is_named_by_ids_and_keys(doors: Doors, door: str) -> None:
    for wrong in (
        "x",
        [10**30],
        [-1],
        [1.5],
        [{"job": 1, "policy": 5}],
        [[1]],
        [10**400],
        {"a": 1},
    ):
        assert tried(doors, door, "after", wrong), str(wrong)[:100]
        assert tried(doors, door, "parent", wrong), str(wrong)[:100]


def test_options_are_an_object_of_bounded_size_that_everybody_can_read(doors: Doors) -> None:
    for wrong in (
        *("x", 5, [1], True, {"x": "x" * 65_536}, {"x": 10**400}),
        {"x": nested(MAX_LEVELS)},
    ):
        assert tried(doors, "sql", "options", wrong), str(wrong)[:100]
    assert tried(doors, "sql", "options", {"unknown": {"to": "us"}}) is None


def test_the_last_job_of_many_is_looked_at_like_the_first(doors: Doors) -> None:
    """The fast way in, and the one with a list of jobs."""
    for bad in (10**400, nested(MAX_LEVELS)):
        many = f'[{{}}, {{"x": 1}}, {dumped({"x": bad})}]'
        with pytest.raises(Refusal, match="a job of the call has arguments"):
            sql(doors, """SELECT tenure.enqueue_many(%s, '{"task": "work"}')""", many)
    for wrong in ('{"tags": [["a"]]}', '{"priority": "high"}', '{"options": "x"}', '{"task": {}}'):
        with pytest.raises(Refusal, match="job number 2 of the call has"):
            sql(doors, "SELECT tenure.enqueue(%s)", f'[{{"task": "work"}}, {wrong}]')
        with pytest.raises(Refusal, match=r"(a job|job number 1) of the call has"):
            sql(
                doors,
                "SELECT tenure.enqueue_many('[{}]', %s)",
                f"""{{"task": "work", {wrong[1:]}""",
            )


def test_a_worker_reads_every_length_that_the_database_lets_in(doors: Doors) -> None:
    """The two have readers of their own; they agree on what is a length of time."""
    for text in (
        *("1s", "1h30m", "500ms", "1d2h3m4s5ms6us", " 1s ", "1h 30m", "0.5s", "5us", "0s"),
        *("", "s", "5", "1s1h", "1 s", "-1s", "1e3s", "1m1m", "infinity", "1.s", ".5s"),
        *("1" * 20 + "us", "1" * 21 + "us", "1y", "1 hour", "1S"),
    ):
        row = doors.sql.execute("SELECT tenure.as_seconds(to_jsonb(%s::text))", [text]).fetchone()
        assert row is not None
        try:
            expected = duration(text).total_seconds()
        except InputRefused:
            assert row[0] is None, text
        else:
            assert float(row[0]) == pytest.approx(expected), text
