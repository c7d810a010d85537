"""How things are printed: texts, tables, lengths of time, sizes, questions."""

import sys
from datetime import UTC, datetime, timedelta

import pytest

from tenure.cli.job.list import progress_text
from tenure.cli.output import Printer, ago, clean, compact, duration_text, exact_time
from tenure.cli.parsing import named_values, value
from tenure.domain.duration import age
from tenure.domain.job import JSON
from tenure.domain.values import size_text
from tenure.errors import InputRefused

Captured = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        *((0, "0.0s"), (12.54, "12.5s"), (59.94, "59.9s"), (60, "1m"), (200, "3m 20s")),
        *((3600, "1h"), (7500, "2h 5m"), (86400, "1d"), (270_000, "3d 3h")),
    ],
)
def test_durations_are_human_readable(seconds: float, said: str) -> None:
    assert duration_text(seconds) == said


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.4, "0s"), (59, "59s"), (60, "1m"), (7199, "1h"), (86_400, "1d")]
)
def test_an_age_has_one_unit(seconds: float, said: str) -> None:
    assert age(seconds) == said


def test_timestamps_are_relative_to_now() -> None:
    now = datetime.now(UTC)
    assert ago(None) == exact_time(None) == ""
    assert ago(now) == "now"
    assert ago(now - timedelta(minutes=3, seconds=5)) == "3m ago"
    assert ago(now + timedelta(hours=2, minutes=1)) == "in 2h"
    assert exact_time(datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)).startswith(
        "2020-01-02 03:04:05 UTC ("
    )


@pytest.mark.parametrize(
    ("size", "said"),
    [(0, "0 B"), (999, "999 B"), (12_345, "12.3 kB"), (4 * 10**6, "4.0 MB"), (10**12, "1.0 TB")],
)
def test_sizes_are_human_readable(size: int, said: str) -> None:
    assert size_text(size) == said


@pytest.mark.parametrize(
    ("progress", "said"),
    [
        (None, ""),
        ({"done": 1, "total": 3}, "33%"),
        ({"done": 5, "total": 3}, "100%"),
        ({"done": 5, "total": 0}, "5"),
        ({"done": 2.5}, "2.5"),
        ({"done": "x"}, ""),
        ("odd", ""),
    ],
)
def test_progress_is_a_few_characters(progress: JSON, said: str) -> None:
    assert progress_text(progress) == said


@pytest.mark.parametrize(
    ("text", "read"),
    [("3", 3), ("true", True), ("[1]", [1]), ('"3"', "3"), ("a.org", "a.org"), ("NaN", "NaN")],
)
def test_a_value_is_json_where_it_can_be(text: str, read: JSON) -> None:
    assert value(text) == read
    assert named_values([f"x={text}"]) == {"x": read}


def test_what_a_terminal_would_obey_is_shown() -> None:
    assert clean("a\x1b[31m\x07\rb\u202ec\nd") == "a\\x1b[31m\\x07\\rb\\u202ec\nd"
    assert compact({"a": "\x1b"}) == '{"a": "\\u001b"}'


def test_a_table_in_a_pipe_is_never_cut_and_has_no_blanks_at_its_ends(capsys: Captured) -> None:
    wide = "x" * 500
    Printer().table(("a", "b"), [(1, wide), (22, "two\nlines"), (3, None)], "none")
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["a   b", f"1   {wide}", "22  two lines", "3"]


def test_text_that_looks_like_markup_is_text(capsys: Captured) -> None:
    Printer().print("[bold]a[/bold] :smile:", "b")
    assert capsys.readouterr().out == "[bold]a[/bold] :smile: b\n"


def test_json_is_one_document_or_lines(capsys: Captured) -> None:
    Printer(json=True).document({"at": datetime(2020, 1, 1, tzinfo=UTC), "ü": [1]})
    Printer(json=True).json_line({"a": [1, 2]})
    assert capsys.readouterr().out == (
        '{\n  "at": "2020-01-01T00:00:00Z",\n  "ü": [\n    1\n  ]\n}\n{"a":[1,2]}\n'
    )


def test_nothing_that_destroys_is_done_where_nobody_can_be_asked() -> None:
    with pytest.raises(InputRefused, match=r"all is lost.* no prompt: pass --yes"):
        Printer().confirm("all is lost", yes=False)
    Printer().confirm("all is lost", yes=True)


def test_who_wants_json_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert Printer().may_ask
    assert not Printer(json=True).may_ask
    assert not Printer(json=True).may_move
