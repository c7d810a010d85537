"""Declaring schedules: checked at import, immutable, and known to the worker that fires them."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tenure.app import Tenure
from tenure.config import Settings
from tenure.control.schedule import Schedule
from tenure.control.task import Task
from tenure.errors import SettingInvalid


@pytest.fixture
def app() -> Tenure:
    return Tenure("postgresql:///nowhere?host=/nowhere", settings=Settings())


@pytest.fixture
def report(app: Tenure) -> Task[..., None]:
    @app.task(name="report", queue="slow", target="site:{site}", deadline="1h")
    def report(site: str = "all", day: datetime | None = None) -> None: ...

    return report


def test_a_schedule_can_decorate_a_task(app: Tenure) -> None:
    @app.schedule("0 3 * * *", tz="Europe/Berlin", overlap="queue", catch_up="1h")
    @app.schedule("*/5 * * * *", name="often")
    @app.task(name="work")
    def work() -> None: ...

    assert app.tasks == {"work": work}
    assert set(app.schedules) == {"often", "work"}
    nightly = app.schedules["work"]
    assert (nightly.task, nightly.cron, nightly.tz) == ("work", "0 3 * * *", "Europe/Berlin")
    assert (nightly.overlap, nightly.catch_up) == ("queue", timedelta(hours=1))
    often = app.schedules["often"]
    assert (often.tz, often.overlap, often.catch_up) == ("UTC", "skip", timedelta(minutes=1))
    with pytest.raises(AttributeError):
        often.cron = "* * * * *"  # type: ignore[misc]


def test_a_schedule_can_be_made_with_a_task_as_argument(
    app: Tenure, report: Task[..., None]
) -> None:
    made = app.schedule(
        "0 3 * * *", task=report.using(queue="night", tenant="acme"), args={"site": "a"}
    )
    assert app.schedules == {"report": made}
    assert made.args == {"site": "a"}
    assert made.tenant == "acme"
    assert (made.job.task, made.job.queue, made.job.target) == ("report", "night", "site:a")
    assert made.job.options is None
    assert made.deadline == timedelta(hours=1)


def test_a_schedule_survives_its_announcement(app: Tenure, report: Task[..., None]) -> None:
    day = datetime(2030, 1, 1, tzinfo=UTC)
    made = app.schedule("0 3 * * *", task=report, args={"site": "a", "day": day})
    [told] = json.loads(json.dumps(app.announcement()))["schedules"]
    read = Schedule.from_announcement(told)
    assert json.dumps(read.announcement()) == json.dumps(made.announcement())
    assert read.job.args == made.job.args
    assert report.read_arguments(read.args) == {"site": "a", "day": day}


TIMES = [
    # The clocks skip the time, or repeat it: the schedule fires once.
    ("30 2 * * *", "2026-03-28T12:00", ["2026-03-29T01:00", "2026-03-30T00:30"]),
    ("30 2 * * *", "2026-10-24T12:00", ["2026-10-25T00:30", "2026-10-26T01:30"]),
    ("0 12 * * MON", "2026-01-05T11:00", ["2026-01-12T11:00"]),
    ("*/20 0 0 1 1 *", "2026-06-01T00:00", ["2026-12-31T23:00:00", "2026-12-31T23:00:20"]),
]


@pytest.mark.parametrize(("cron", "start", "expected"), TIMES)
def test_the_times_of_a_schedule(
    app: Tenure, report: Task[..., None], cron: str, start: str, expected: list[str]
) -> None:
    made = app.schedule(cron, task=report, tz="Europe/Berlin")
    moment = datetime.fromisoformat(start).replace(tzinfo=UTC)
    for time in expected:
        moment = made.next_after(moment)
        assert moment == datetime.fromisoformat(time).replace(tzinfo=UTC)


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("0 3 * *", {}, "cron: '0 3 * *' is not a schedule: wrong number of fields"),
    ("61 * * * *", {}, "cron: '61 * * * *' is not a schedule: bad minute"),
    ("every day", {}, "cron: 'every day' is not a schedule"),
    ("", {}, "cron: '' is not a schedule"),
    ("0 0 30 2 *", {}, "cron: '0 0 30 2 *' is not a schedule: bad day-of-month"),
    ("0 3 * * *", {"tz": "Mars/Olympus"}, "tz: there is no time zone 'Mars/Olympus'"),
    ("0 3 * * *", {"tz": "../../etc/passwd"}, "tz: there is no time zone"),
    ("0 3 * * *", {"tz": ""}, "tz: there is no time zone ''"),
    ("0 3 * * *", {"tz": None}, "tz: there is no time zone None"),
    ("0 3 * * *", {"overlap": "wait"}, "overlap: it takes 'skip', 'queue' or 'replace'"),
    ("0 3 * * *", {"catch_up": "late"}, "catch_up: 'late' is not a duration"),
    ("0 3 * * *", {"catch_up": None}, "catch_up: it takes a length of time such as '60s'"),
    ("0 3 * * *", {"args": {"sites": "a"}}, "task 'report' cannot take these arguments: there is"),
    ("0 3 * * *", {"args": {"site": 5}}, "site: input should be a valid string"),
    ("0 3 * * *", {"args": ["a"]}, "args: it takes arguments by name, not ['a']"),
    ("0 3 * * *", {"name": ""}, "name: it takes a text that is not empty, not ''"),
]


@pytest.mark.parametrize(("cron", "how", "sentence"), WRONG)
def test_an_invalid_schedule_is_refused_at_import(
    app: Tenure, report: Task[..., None], cron: str, how: Any, sentence: str
) -> None:
    with pytest.raises(SettingInvalid) as refused:
        app.schedule(cron, **how)(report)
    assert str(refused.value).startswith("schedule ")
    assert sentence in str(refused.value)
    assert not app.schedules


def refusal(declare: Callable[[], Any]) -> str:
    with pytest.raises(SettingInvalid) as refused:
        declare()
    return str(refused.value)


def test_a_schedule_needs_a_task_and_a_name_that_is_not_taken(
    app: Tenure, report: Task[..., None]
) -> None:
    def plain() -> None: ...

    said = refusal(lambda: app.schedule("0 3 * * *")(plain))  # type: ignore[type-var]
    assert said.endswith("put @app.schedule above @app.task")
    app.schedule("0 3 * * *", task=report)
    said = refusal(lambda: app.schedule("0 4 * * *", task=report))
    assert said == "there are two schedules named 'report'; give one of them another name="
    said = refusal(lambda: app.schedule("0 4 * * *", name="x", task=report.using(delay="1s")))
    assert said.endswith("a schedule can only set the queue and the tenant of its task")
