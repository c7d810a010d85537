"""The history on the overview: drawn, in words, sent once, and nobody else's."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from tenure.control.client import Client
from tenure.domain.lifecycle import State
from tenure.domain.principal import Role
from tenure.domain.tenant import Tenant
from tenure.store.rollups import EndCounts, EndCountsAt, History
from tenure.store.store import Store
from tenure.web.dashboard import history as histories
from tenure.web.dashboard.charts import HEIGHT, STEP, Chart, charts, hours
from tests.factories import make_job_in
from tests.web.dashboard.conftest import Visits
from tests.web.dashboard.visitor import Visitor, said, tags

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def always_asked_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(histories, "FRESH_FOR", 0.0)


def history_of(*buckets: EndCounts, step: timedelta = timedelta(minutes=15)) -> History:
    at = [
        EndCountsAt(
            at=NOON + n * step, **{name: getattr(it, name) for name in EndCounts.__struct_fields__}
        )
        for n, it in enumerate(buckets)
    ]
    until = at[-1].at + step / 2
    return History(NOON, until, step.total_seconds(), until, buckets[-1], tuple(at), ())


def changed(history: History, **fields: datetime | None) -> History:
    return msgspec.structs.replace(history, **fields)


def chart_of(history: History, name: str) -> Chart:
    [chart] = [chart for chart in charts(history) if chart.id == name]
    return chart


def mark_of(text: str) -> str:
    [mark] = [told["data-mark"] for _, told in tags(text) if "data-mark" in told]
    return mark


def test_the_overview_tells_what_ended_in_drawings_in_words_and_in_a_table(
    vic: Visitor, store: Store
) -> None:
    make_job_in(store, State.COMPLETED, queue="mail")
    make_job_in(store, State.FAILED, queue="crawl", max_attempts=1)
    make_job_in(store, State.CANCELLED, queue="mail")
    text = vic.sees("/")
    words = said(text)
    assert "Last hour" in words, "the shortest time that shows all of them"
    assert "Last 24 hours" in said(vic.sees("/?span=24h"))
    assert "1 completed in all. Maximum: 1, " in words
    assert "1 failed in all." in words
    assert "Wait of jobs that completed or failed. In all: p50" in words
    drawings = [told for tag, told in tags(text) if tag == "svg" and "role" in told]
    known = {told["id"] for _, told in tags(text) if "id" in told}
    assert len(drawings) == 4
    for drawing in drawings:
        assert drawing["role"] == "img"
        assert set(drawing["aria-labelledby"].split()) <= known
    rows = {told["data-key"] for tag, told in tags(text) if tag == "tr" and "data-key" in told}
    assert {"ended-mail", "ended-crawl"} <= rows
    assert not any("style" in told for _, told in tags(text))


def test_of_nothing_there_is_a_sentence(vic: Visitor) -> None:
    words = said(vic.sees("/"))
    assert "No job has ended in the last 24 hours." in words
    assert "Show as a table" not in words


def test_one_looks_further_back_or_at_one_queue(vic: Visitor, store: Store) -> None:
    make_job_in(store, State.COMPLETED, queue="<b>&")
    make_job_in(store, State.COMPLETED, queue="mail")
    whole = vic.sees("/?span=6h")
    assert "Last 6 hours" in said(whole)
    assert "per 5 min" in said(whole)
    [path] = [
        told["href"]
        for _, told in tags(whole)
        if told.get("href", "").endswith("queue=%3Cb%3E%26") and "span" in told["href"]
    ]
    one = vic.sees(path)
    assert "of queue <b>&" in said(one)
    assert "<b>&" not in one
    assert "1 completed in all." in said(one)
    assert "all queues" in said(one)
    assert vic.see("/?span=2d").status_code == 422
    assert "one of 1h, 6h, 24h" in said(vic.see("/?span=2d").text)


def test_what_a_page_has_is_not_sent_again(vic: Visitor, store: Store) -> None:
    first = vic.sees("/")
    again = vic.see("/", x_fragment="main", x_have=f"other {mark_of(first)}").text
    assert "data-same" in again
    assert "<svg" not in again
    make_job_in(store, State.COMPLETED)
    changed = vic.see("/", x_fragment="main", x_have=mark_of(first)).text
    assert "1 completed in all." in said(changed)
    assert mark_of(changed) != mark_of(first)


def test_a_history_is_asked_for_once_in_a_while(
    vic: Visitor, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = vic.sees("/")
    make_job_in(store, State.COMPLETED)
    monkeypatch.setattr(histories, "FRESH_FOR", 3600.0)
    assert mark_of(vic.sees("/")) == mark_of(first)
    assert mark_of(vic.sees("/?span=6h")) != mark_of(first)


def test_nobody_sees_the_history_of_another_tenant(
    vic: Visitor, visits: Visits, client: Client, store: Store
) -> None:
    client.migrate(Tenant("acme"))
    theirs = visits("boss", Role.VIEWER, "acme")
    make_job_in(store, State.COMPLETED, queue="ours-alone")
    assert "ours-alone" in vic.sees("/")
    assert "ours-alone" not in theirs.sees("/")
    assert "No job has ended" in said(theirs.sees("/?queue=ours-alone"))


def test_periods_not_yet_counted_are_marked() -> None:
    behind = history_of(EndCounts(), EndCounts(completed=1), EndCounts(completed=1))
    assert not histories.Drawn(behind, "1h", None).is_behind
    late = changed(behind, counted_until=behind.until - timedelta(minutes=25))
    assert histories.Drawn(late, "1h", None).is_behind
    never = changed(behind, counted_until=None)
    assert not histories.Drawn(never, "1h", None).is_behind, "nothing ever ended"


def test_bars_are_as_high_as_their_counts_and_one_of_many_can_be_seen() -> None:
    chart = chart_of(
        history_of(
            EndCounts(completed=400), EndCounts(), EndCounts(completed=1), EndCounts(completed=200)
        ),
        "completed",
    )
    [bars] = chart.paths
    drawn = [bar.split() for bar in bars.d.split("M")[1:]]
    assert [(int(x), bar.split("v-")[1].split("h")[0]) for x, bar in drawn] == [
        (1, "100.0"),
        (2 * STEP + 1, "2.5"),
        (3 * STEP + 1, "50.0"),
    ]
    assert chart.ticks == ("400", "200", "0")
    assert chart.buckets[1].text == "12:15 to 12:30: 0 completed"
    assert chart.buckets[3].text == "12:45 to 13:00, so far: 200 completed"


@pytest.mark.parametrize(("most", "top"), [(0, "1"), (1, "1"), (5, "6"), (11, "20"), (290, "300")])
def test_the_scale_of_counts_ends_at_a_round_number(most: int, top: str) -> None:
    assert chart_of(history_of(EndCounts(failed=most)), "failed").ticks[0] == top


def test_times_stand_between_the_round_times_around_them() -> None:
    slow = EndCounts(completed=1, run_p50=1.0, run_p95=90.0)
    fast = EndCounts(completed=1, run_p50=0.02, run_p95=10.0)
    chart = chart_of(history_of(slow, EndCounts(), fast), "run")
    assert chart.ticks == ("10 m", "1 m", "10 s", "1 s", "100 ms", "10 ms")
    band, p95, p50 = chart.paths
    assert p50.d.startswith("M0 60.0h10M20 ")
    assert p95.d.endswith("M20 40.0h10")
    assert band.d.count("z") == 2
    assert "p50 1.0 s, p95 1 m 30 s" in chart.buckets[0].text
    assert "no job was started" in chart.buckets[1].text


@pytest.mark.parametrize("high", [0.0005, 0.5, 59, 3599, 86_400, 5e6, 9e9])
@pytest.mark.parametrize("low", [0.0001, 0.3, 61, 90_000])
def test_no_time_is_drawn_outside(low: float, high: float) -> None:
    low, high = sorted((low, high))
    chart = chart_of(history_of(EndCounts(completed=1, wait_p50=low, wait_p95=high)), "wait")
    assert 2 <= len(chart.ticks) <= 8
    for shape in chart.paths[1:]:
        assert 0 <= float(shape.d.removeprefix("M0 ").removesuffix("h10")) <= HEIGHT


def test_an_hour_has_room_until_the_end_of_its_quarter() -> None:
    five = timedelta(minutes=5)
    whole = history_of(*[EndCounts()] * 10, step=five)
    assert chart_of(whole, "completed").width == 12 * STEP
    assert hours(whole) == ("12:00", "12:15", "12:30", "12:45", "13:00")


def test_a_mark_is_of_what_is_shown() -> None:
    one = history_of(EndCounts(completed=1))
    later = changed(one, until=one.until + timedelta(seconds=20))
    assert histories.Drawn(one, "1h", None).mark == histories.Drawn(later, "1h", None).mark
    assert histories.Drawn(one, "1h", None).mark != histories.Drawn(one, "1h", "mail").mark
