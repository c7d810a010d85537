"""The pages of tasks, and the form that enqueues a job of one."""

from datetime import UTC, datetime

import pytest

from tenure.domain.job import NewJob
from tenure.store.rollups import TaskRuns
from tenure.store.store import Store
from tenure.web.dashboard.argument_form import Field, fields_of
from tenure.web.dashboard.distribution import WIDTH, distribution
from tests.factories import announcement, make_job, make_worker, promote
from tests.web.dashboard.scenes import SCHEMA
from tests.web.dashboard.visitor import Visitor, actions, said

NOW = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.fixture
def crawl(store: Store) -> Store:
    store.announce_tasks([announcement("shop/crawl", doc="Read a shop.", schema=SCHEMA)])
    return store


def fill(visitor: Visitor, **fields: str) -> tuple[int, str]:
    names = {name.replace("arg_", "arg."): value for name, value in fields.items()}
    answer = visitor.does("/tasks/shop/crawl", **names)
    return answer.status_code, answer.headers.get("location", "") or said(answer.text)


def test_a_job_is_enqueued_by_a_form_of_its_arguments(ann: Visitor, crawl: Store) -> None:
    page = ann.sees("/tasks/shop/crawl")
    assert "Read a shop." in page
    assert "at least 1; at most 10; default: 3" in said(page)
    status, place = fill(
        ann, arg_site="a", arg_depth="5", arg_mode='"fast"', arg_again="true",
        arg_headers='{"x": 1}', queue="night", key="today", priority="-3", delay="1h",
    )  # fmt: skip
    assert (status, place) == (303, "/jobs/1")
    job = crawl.show(1)
    assert job.args == {"site": "a", "depth": 5, "mode": "fast", "again": True, "headers": {"x": 1}}
    assert (job.owner, job.queue, job.key, job.priority) == ("ann", "night", "today", -3)
    assert job.status == "scheduled"


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({}, "site is missing"),
        ({"arg_site": "a", "arg_depth": "deep"}, "depth: it takes a whole number"),
        ({"arg_site": "a", "arg_depth": "11"}, "depth: it breaks the rule maximum 10"),
        ({"arg_site": "a", "arg_mode": '"slow"'}, "mode: it is not one of the allowed values"),
        ({"arg_site": "a", "priority": "high"}, "priority: must be a whole number, not 'high'"),
        ({"arg_site": "a", "delay": "soon"}, "delay"),
    ],
)
def test_a_form_that_is_filled_in_wrongly_is_shown_again(
    ann: Visitor, crawl: Store, fields: dict[str, str], problem: str
) -> None:
    status, text = fill(ann, **fields)
    assert status == 422
    assert problem in text
    assert crawl.list_jobs() == ()
    if "arg_depth" in fields:
        answer = ann.does("/tasks/shop/crawl", **{"arg.site": "a", "arg.depth": "deep"})
        assert 'value="deep"' in answer.text, "what was filled in is still there"


def test_a_viewer_cannot_enqueue(vic: Visitor, crawl: Store) -> None:
    assert actions(vic.sees("/tasks/shop/crawl")) == {"/logout"}
    status, text = fill(vic, arg_site="a")
    assert status == 403
    assert "vic is a viewer and may not enqueue" in text
    assert crawl.list_jobs() == ()


def test_the_list_shows_failures_and_what_no_worker_runs(vic: Visitor, store: Store) -> None:
    worker = make_worker(store)
    for name in ("good", "bad"):
        for _ in range(2):
            make_job(store, name, max_attempts=1)
    promote(store)
    for job in worker.claim(4):
        worker.finish(job, "failed" if job.task == "bad" else "completed")
    store.enqueue([NewJob(task="nowhere")])
    text = said(vic.sees("/tasks"))
    assert "bad not announced" in text
    assert "100 %" in text
    assert vic.see("/tasks?order=x").status_code == 422
    by_failures = vic.sees("/tasks?order=failures")
    assert by_failures.index('href="/tasks/bad"') < by_failures.index('href="/tasks/good"')
    page = said(vic.sees("/tasks/bad"))
    assert "2 of 2" in page
    assert vic.see("/tasks/nothing").status_code == 404


def test_fields_follow_the_schema() -> None:
    schema = {
        "$defs": {"Mode": {"enum": ["a", 1]}},
        "properties": {
            "mode": {"$ref": "#/$defs/Mode"},
            "when": {"type": "string", "format": "date-time"},
            "tags": {"type": "array", "default": ["x"]},
            "odd": True,
        },
        "required": ["when"],
    }
    assert fields_of(schema) == (
        Field("when", "text", True, "date-time"),
        Field("mode", "choice", False, "", ('"a"', "1")),
        Field("tags", "json", False, 'default: ["x"]'),
        Field("odd", "json"),
    )
    assert fields_of(None) == fields_of({"properties": []}) == ()


def test_a_distribution_is_drawn_inside_its_frame() -> None:
    runs = ((0.001, 1), (0.5, 90), (7200.0, 9))
    drawn = distribution(TaskRuns("a", 100, 100, 0, 0, NOW, NOW, runs))
    assert drawn is not None
    assert [round(bar.height) for bar in drawn.bars] == [3, 100, 10]
    assert all(bar.x >= 0 and bar.x + bar.width <= WIDTH for bar in drawn.bars)
    assert [mark.text for mark in drawn.marks] == ["500 ms", "2 h 0 m"]
    assert [tick.name for tick in drawn.ticks][:3] == ["1 ms", "10 ms", "100 ms"]
    single = distribution(TaskRuns("a", 1, 1, 0, 0, NOW, NOW, ((3.0, 1),)))
    assert single is not None
    assert single.bars[0].width < WIDTH / 4
    assert distribution(TaskRuns("a", 1, 0, 0, 1, NOW, NOW, ())) is None
