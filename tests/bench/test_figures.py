"""A figure says by itself whether it is good enough."""

import json

import pytest
from bench.exchanging import Run
from bench.figures import figure, tell


def test_a_figure_is_the_median_of_its_rounds() -> None:
    assert figure("speed", [3.0, 900.0, 5.0], "jobs/s").value == 5.0


def test_a_goal_is_for_the_ratio_when_there_is_something_to_compare_with() -> None:
    bare = figure("bare", 20_000.0, "jobs/s")
    good = figure("ours", 12_000.0, "jobs/s", against=bare, at_least=0.55)
    bad = figure("ours", 9_000.0, "jobs/s", against=bare, at_least=0.55)
    assert (good.against, good.ratio, good.met) == ("bare", 0.6, True)
    assert (bad.ratio, bad.met) == (0.45, False)


def test_a_goal_is_for_the_value_otherwise() -> None:
    assert figure("cancel", 0.9, "s", at_most=1).met
    assert figure("cancel", 1.1, "s", at_most=1).met is False


def test_a_figure_without_a_goal_is_neither_good_nor_bad() -> None:
    assert figure("bare", 1.0, "jobs/s").met is None


def test_a_figure_is_one_line_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    tell(figure("cancel", 0.5, "s", at_most=1))
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line) == {
        "figure": "cancel",
        "value": 0.5,
        "unit": "s",
        "against": None,
        "ratio": None,
        "goal": "<= 1",
        "met": True,
    }


def test_the_windows_of_a_long_run_are_its_first_and_its_last_seconds() -> None:
    run = Run(window=5)
    for second in range(60):
        run.add(1_000 if second < 30 else 500, 1.0)
    assert (run.first, run.last, run.mean) == (1_000, 500, 750)
