"""Arguments of many jobs are written together, and are what they would be one by one."""

import json
from collections import deque
from collections.abc import Sequence
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tenure.app import Tenure
from tenure.config import Settings
from tenure.control.job_drafts import written_many
from tenure.control.task import Task
from tenure.errors import InputRefused

app = Tenure("postgresql://nowhere", settings=Settings(max_args_bytes=1_000))


@app.task(name="plain")
def plain(text: str, count: int = 3, share: float = 0.5, sure: bool = False) -> None: ...


@app.task(name="rich")
def rich(day: date, names: tuple[str, ...] = ()) -> None: ...


@app.task(name="bare")
def bare() -> None: ...


def many(task: Task[..., Any], calls: Sequence[Any]) -> list[Any]:
    written: list[Any] = json.loads(bytes(written_many(task, calls)))
    return written


def one_by_one(task: Task[..., Any], calls: Sequence[Any]) -> list[Any]:
    return [
        task.new_job(**call).args if isinstance(call, dict) else task.new_job(*call).args
        for call in calls
    ]


PLAIN = (
    some.text(max_size=40),
    some.one_of(some.integers(), some.just("12"), some.just(True)),
    some.one_of(some.floats(), some.integers(), some.just("NaN")),
    some.booleans(),
)
CALLS = some.lists(
    some.one_of(
        some.tuples(*PLAIN[:2]),
        some.tuples(*PLAIN).map(list),
        some.fixed_dictionaries({"text": PLAIN[0]}, optional={"share": PLAIN[2]}),
        some.dictionaries(some.sampled_from(["text", "count", "other"]), PLAIN[1]),
    ),
    max_size=5,
)


@given(CALLS)
def test_many_are_written_as_one_by_one_or_refused_as_one_by_one(calls: list[Any]) -> None:
    try:
        expected = one_by_one(plain, calls)
    except InputRefused:
        with pytest.raises(InputRefused, match=r"^arguments number \d"):
            many(plain, calls)
        return
    numbers = [value for args in expected for value in args.values()]
    if any(value != value or value in (float("inf"), -float("inf")) for value in numbers):
        with pytest.raises(InputRefused, match="is not a JSON number"):
            many(plain, calls)
    else:
        assert many(plain, calls) == expected


def test_what_needs_a_look_of_its_own_gets_it() -> None:
    calls: list[Any] = [("2026-01-01",), {"day": date(2026, 1, 2), "names": ("a", "b")}]
    assert many(rich, calls) == one_by_one(rich, calls)
    assert many(bare, [(), {}]) == [{}, {}]
    assert many(plain, [("**********",), ("b",)]) == [{"text": "**********"}, {"text": "b"}]


def test_calls_come_in_anything_that_has_them_in_order() -> None:
    class Loud(dict[str, str]):
        def items(self) -> Any:
            return [(name, value.upper()) for name, value in super().items()]

    assert many(plain, deque([("a",), Loud(text="b")])) == [{"text": "a"}, {"text": "B"}]


def test_a_text_that_is_no_unicode_is_refused() -> None:
    with pytest.raises(InputRefused, match=r"^arguments number 2: task 'plain' cannot take"):
        many(plain, [("a",), ("\ud800",)])


def test_a_mistake_far_down_is_named_by_its_place() -> None:
    calls: list[Any] = [(str(place),) for place in range(1, 1_401)]
    assert many(plain, calls) == one_by_one(plain, calls)
    calls[1_233] = (5,)
    with pytest.raises(InputRefused, match=r"^arguments number 1234: task 'plain' cannot take"):
        many(plain, calls)


def test_each_of_many_may_be_as_large_as_one() -> None:
    fits = "x" * 980
    assert many(plain, [(fits,)] * 700) == [{"text": fits}] * 700
    with pytest.raises(InputRefused, match="arguments number 3: the arguments of task 'plain' are"):
        many(plain, [("a",), ("b",), ("x" * 1_000,)])
