"""How often, and after how long."""

import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.domain.bounds import MAX_RETRIES
from tenure.domain.retry import Retry
from tenure.errors import InputRefused

NAMES = st.characters(exclude_characters="\0", exclude_categories=["Cs"])


@st.composite
def retries(draw: st.DrawFn) -> Retry:
    lengths = st.timedeltas(timedelta(0), timedelta(days=36500))
    base, cap = sorted([draw(lengths), draw(lengths)])
    return Retry(
        max=draw(st.integers(0, MAX_RETRIES)),
        base=base,
        factor=draw(st.floats(1, 1000)),
        cap=cap,
        jitter=draw(st.floats(0, 1)),
        never=draw(st.lists(st.text(NAMES, min_size=1), max_size=3)),
    )


def test_three_retries_are_four_attempts() -> None:
    assert Retry(max=3).attempts == 4


def test_no_retries_are_one_attempt() -> None:
    assert Retry(max=0).attempts == 1


def test_the_delay_grows_by_the_factor_up_to_the_cap() -> None:
    retry = Retry(max=9, base="1s", factor=3, cap="20s", jitter=0)
    delays = [retry.delay_after(attempt, luck=0).total_seconds() for attempt in range(1, 6)]
    assert delays == [1, 3, 9, 20, 20]


def test_a_factor_of_one_keeps_the_delay() -> None:
    assert Retry(base="5s", factor=1).delay_after(9, luck=0) == timedelta(seconds=5)


def test_luck_takes_off_at_most_the_jitter() -> None:
    retry = Retry(base="10s", jitter=0.2)
    assert retry.delay_after(1, luck=0) == timedelta(seconds=10)
    assert retry.delay_after(1, luck=0.5) == timedelta(seconds=9)
    assert retry.delay_after(1, luck=1) == timedelta(seconds=8)


@given(retries(), st.integers(1, MAX_RETRIES + 1), st.floats(0, 1))
def test_a_delay_is_never_above_the_cap_nor_below_zero(
    retry: Retry, attempt: int, luck: float
) -> None:
    assert timedelta(0) <= retry.delay_after(attempt, luck) <= retry.cap


@given(retries(), st.integers(1, MAX_RETRIES))
def test_a_later_attempt_never_waits_less_without_luck(retry: Retry, attempt: int) -> None:
    assert retry.delay_after(attempt, luck=0) <= retry.delay_after(attempt + 1, luck=0)


def test_an_error_is_given_up_on_by_its_short_or_its_full_name() -> None:
    retry = Retry(never=["ValueError", "json.JSONDecodeError"])
    assert retry.gives_up(["ValueError"])
    assert retry.gives_up(["shop.errors.ValueError"])
    assert retry.gives_up(["json.JSONDecodeError"])
    assert not retry.gives_up(["JSONDecodeError"])
    assert not retry.gives_up(["OSError"])


@given(retries())
def test_options_are_read_back_from_json_as_the_same_retry(retry: Retry) -> None:
    assert Retry.from_options(json.loads(json.dumps(retry.as_options()))) == retry


def test_what_the_options_leave_out_has_its_default() -> None:
    assert Retry.from_options({"max": 5}) == Retry(max=5)
    assert Retry.from_options({}) == Retry()


def test_a_retry_cannot_be_changed_and_can_be_a_key() -> None:
    retry = Retry(max=1)
    with pytest.raises(AttributeError):
        retry.max = 2  # type: ignore[misc]
    assert {retry: 1}[Retry(max=1)] == 1


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"max": -1}, "retry: max is -1; it takes a whole number from 0 to 32766"),
        ({"max": 1.5}, "retry: max is 1.5; it takes a whole number from 0 to 32766"),
        ({"max": True}, "retry: max is True; it takes a whole number from 0 to 32766"),
        ({"max": 40_000}, "retry: max is 40000; it takes a whole number from 0 to 32766"),
        ({"base": "5"}, "retry: base: '5' has no unit; write \"5s\" if it means seconds"),
        ({"base": "1h", "cap": "1m"}, "retry: a base of 1h is above the cap of 1m"),
        ({"factor": 0.5}, "retry: factor is 0.5; it takes a number from 1 to 1000"),
        ({"factor": float("nan")}, "retry: factor is nan; it takes a number from 1 to 1000"),
        ({"factor": "2"}, "retry: factor is '2'; it takes a number from 1 to 1000"),
        ({"jitter": 2}, "retry: jitter is 2; it takes a number from 0 to 1"),
        (
            {"never": "ValueError"},
            "retry: never is 'ValueError'; it takes a list of error types or of their names",
        ),
        (
            {"never": None},
            "retry: never is None; it takes a list of error types or of their names",
        ),
        (
            {"tries": 3},
            (
                "retry: 'tries' is unknown; it knows max, base, factor, cap, jitter, never, "
                "retry_after, function"
            ),
        ),
    ],
)
def test_bad_values_are_refused_with_a_sentence(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputRefused) as refusal:
        Retry.from_options(options)
    assert str(refusal.value) == sentence
