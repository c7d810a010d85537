"""The time axis of a stop is true to scale."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

from tenure.web.dashboard.axis import axis
from tenure.web.dashboard.strip import Cell
from tenure.web.dashboard.window import WIDTH

BEGIN = datetime(2030, 1, 1, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return BEGIN + timedelta(seconds=seconds)


def record(ended: float | None) -> Any:
    completed = None if ended is None else at(ended)
    return SimpleNamespace(initiated_at=BEGIN, completed_at=completed)


def test_each_rung_is_as_wide_as_it_lasted() -> None:
    cells = [
        Cell("Requested", "done", at=at(0)),
        Cell("Asked", "done", at=at(2)),
        Cell("SIGKILL", "done", at=at(6)),
        Cell("Gone", "done", at=at(8)),
    ]
    drawn = axis(record(10), cells, at(99))
    widths = {segment.tone: segment.width for segment in drawn.segments}
    assert widths == {
        "wait": 0.2 * WIDTH,
        "asked": 0.4 * WIDTH,
        "killed": 0.2 * WIDTH,
        "closed": 0.2 * WIDTH,
    }
    assert drawn.description == "Requested: 2.0 s; Asked: 4.0 s; SIGKILL: 2.0 s; Gone: 2.0 s"
    assert [tick.text for tick in drawn.ticks][-1] == "10 s"


def test_an_open_stop_leaves_room_for_the_rungs_to_come() -> None:
    cells = [
        Cell("Requested", "done", at=at(0)),
        Cell("Asked", "now", at=at(1)),
        Cell("SIGKILL", "ahead", at=at(20)),
    ]
    drawn = axis(record(None), cells, at(5))
    assert [segment.x + segment.width for segment in drawn.segments][-1] == 0.25 * WIDTH
    [*_, due] = drawn.points
    assert (due.x, due.text, due.mark) == (WIDTH, "SIGKILL", "ahead")


def test_a_stop_that_took_no_time_is_drawn() -> None:
    drawn = axis(record(0), [Cell("Requested", "done", at=at(0))], at(0))
    assert drawn.segments == ()
    assert drawn.ticks


def test_a_line_leads_from_each_step_to_its_card() -> None:
    cells = [
        Cell("Requested", "done", at=at(0)),
        Cell("Interrupted", "skipped"),
        Cell("Gone", "done", at=at(5)),
        Cell("Closed", "done", at=at(10)),
    ]
    drawn = axis(record(10), cells, at(99))
    assert [(point.text, point.x) for point in drawn.points] == [
        ("Requested", 0),
        ("Gone", WIDTH / 2),
        ("Closed", WIDTH),
    ]
    assert [point.leader.split()[-2:] for point in drawn.points] == [
        ["125.0", "40"],
        ["625.0", "40"],
        ["875.0", "40"],
    ]
