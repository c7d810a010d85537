"""Durations are text outside and a timedelta inside."""

import math
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.domain.duration import duration, in_words
from tenure.errors import InputRefused


@pytest.mark.parametrize(
    ("given_as", "length"),
    [
        ("20s", timedelta(seconds=20)),
        ("2h", timedelta(hours=2)),
        ("1h30m", timedelta(hours=1, minutes=30)),
        ("1h 30m", timedelta(hours=1, minutes=30)),
        (" 7d ", timedelta(days=7)),
        ("500ms", timedelta(milliseconds=500)),
        ("1m500ms", timedelta(minutes=1, milliseconds=500)),
        ("1.5h", timedelta(minutes=90)),
        ("0s", timedelta(0)),
        (timedelta(seconds=3), timedelta(seconds=3)),
        (90, timedelta(seconds=90)),
        (0.25, timedelta(milliseconds=250)),
    ],
)
def test_a_duration_is_read(given_as: timedelta | str | float, length: timedelta) -> None:
    assert duration(given_as) == length


@pytest.mark.parametrize(
    ("given_as", "sentence"),
    [
        ("", '\'\' is not a duration; write "20s", "1h30m" or "500ms"'),
        ("soon", '\'soon\' is not a duration; write "20s", "1h30m" or "500ms"'),
        ("30m1h", '\'30m1h\' is not a duration; write "20s", "1h30m" or "500ms"'),
        ("20 s", '\'20 s\' is not a duration; write "20s", "1h30m" or "500ms"'),
        ("\u0663s", '\'\u0663s\' is not a duration; write "20s", "1h30m" or "500ms"'),
        ("15", "'15' has no unit; write \"15s\" if it means seconds"),
        (True, 'True is not a duration; write "20s", "1h30m" or "500ms"'),
        (None, 'None is not a duration; write "20s", "1h30m" or "500ms"'),
        (-90, "a duration cannot be negative, and -1m30s is"),
        (timedelta(hours=-1), "a duration cannot be negative, and -1h is"),
        (math.inf, "inf is not a length of time that can be counted"),
        (math.nan, "nan is not a length of time that can be counted"),
        ("9999999999d", "'9999999999d' is not a length of time that can be counted"),
    ],
)
def test_what_is_no_duration_is_refused_with_a_sentence(given_as: Any, sentence: str) -> None:
    with pytest.raises(InputRefused) as refusal:
        duration(given_as)
    assert str(refusal.value) == sentence


@pytest.mark.parametrize(
    ("length", "words"),
    [
        (timedelta(hours=1, minutes=30), "1h30m"),
        (timedelta(days=30), "30d"),
        (timedelta(seconds=1.5), "1s500ms"),
        (timedelta(microseconds=7), "7us"),
        (timedelta(0), "0s"),
        (timedelta(seconds=-5), "-5s"),
    ],
)
def test_a_duration_is_told_in_words(length: timedelta, words: str) -> None:
    assert in_words(length) == words


@given(st.timedeltas(min_value=timedelta(0)))
def test_words_are_read_back_as_the_same_duration(length: timedelta) -> None:
    assert duration(in_words(length)) == length


@given(st.text())
def test_any_text_is_a_duration_or_refused(text: str) -> None:
    try:
        assert duration(text) >= timedelta(0)
    except InputRefused as refusal:
        assert str(refusal)  # noqa: PT017 - most texts are refused, some are not
