"""The inspection of a job on its page, and the newest lines of its log."""

import re
from datetime import timedelta

import pytest

from tenure.config import Settings
from tenure.control import inspection
from tenure.domain.inspection import Frame, InspectionAnswer, Process, Stack
from tenure.store.calls import queries
from tenure.store.outcomes import LogLine, Report
from tenure.store.results import Claimed
from tenure.store.store import Store
from tenure.web.dashboard import strip
from tests.factories import Worker, make_job, make_worker, promote
from tests.looks import answering
from tests.web.dashboard.visitor import Visitor, actions, said, tags

EVIL = "<script>alert(1)</script>"


@pytest.fixture
def worker(store: Store) -> Worker:
    return make_worker(store, timedelta(hours=1))


@pytest.fixture
def job(store: Store, worker: Worker) -> Claimed:
    make_job(store, owner="ann")
    return worker.claim_one()


def test_who_may_stop_a_job_looks_inside(
    ann: Visitor, vic: Visitor, store: Store, worker: Worker, job: Claimed
) -> None:
    sight = InspectionAnswer(
        (Stack(f"task {EVIL}", (Frame("/srv/shop.py", 7, EVIL, f"sleep({EVIL!r})"),)),),
        (Process(4711, EVIL, "sleeping", 1.55, 2_000_000),),
        ("it is well",),
    )
    with answering(worker, job, sight):
        answer = ann.does(f"/jobs/{job.id}/inspect")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/jobs/{job.id}")
    text = ann.sees(f"/jobs/{job.id}")
    assert EVIL not in text
    shown = said(text)
    assert f'File "/srv/shop.py", line 7, in {EVIL} sleep(' in shown
    assert f"4711 {EVIL} 1.6 s 2.0 MB sleeping" in shown
    assert "it is well" in shown
    other = vic.sees(f"/jobs/{job.id}")
    assert "shop.py" not in other, "a stack is not for everybody"
    assert "Inspect" not in other
    answer = vic.does(f"/jobs/{job.id}/inspect")
    assert answer.status_code == 403


def test_a_worker_that_is_silent_is_told_of(
    ann: Visitor, job: Claimed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspection.inspect, "__defaults__", ("10ms",))
    assert ann.does(f"/jobs/{job.id}/inspect").status_code == 303
    assert "its worker has not answered yet" in said(ann.sees(f"/jobs/{job.id}"))


def test_what_does_not_run_has_no_inside(ann: Visitor, store: Store) -> None:
    job = make_job(store, owner="ann")
    assert f"/jobs/{job}/inspect" not in actions(ann.sees(f"/jobs/{job}"))
    assert ann.does(f"/jobs/{job}/inspect").status_code == 409


def test_all_lines_of_a_long_log_are_reached_page_by_page(
    ann: Visitor, store: Store, worker: Worker, job: Claimed
) -> None:
    lines = [LogLine(f"line-{number}.") for number in range(5_600)]
    store.report(worker.id, [Report(job=job.id, token=job.token, logs=lines)])
    path = f"/jobs/{job.id}"
    seen: list[str] = []
    while path:
        page = ann.sees(path)
        seen = [*re.findall(r"line-(\d+)\.", page), *seen]
        path = next((at["href"] for _, at in tags(page) if at.get("rel") == "next"), "")
    assert seen == [str(number) for number in range(5_600)]
    found = ann.sees(f"/jobs/{job.id}?q=LINE-77.")
    assert re.findall(r"line-(\d+)\.", found) == ["77"]
    assert "No line of the log matches" in said(ann.sees(f"/jobs/{job.id}?level=error"))
    for wrong in ("level=loud", f"q={'x' * 300}", "below=-1", "tab=none"):
        assert ann.see(f"/jobs/{job.id}?{wrong}").status_code == 422, wrong


def test_the_strip_names_the_processes_that_are_gone(
    ann: Visitor, store: Store, worker: Worker, job: Claimed
) -> None:
    record = store.stop(job.id, force=True, reason="enough")
    pids = tuple(range(4000, 4050))
    worker.finish(job, "stopped", heard=True, pids=pids, processes=60)
    promote(store)
    shown = said(ann.sees(f"/jobs/{job.id}"))
    assert "its process tree is gone: pids 4000, 4001," in shown
    assert "4049 and 10 more" in shown
    closed = store.send(queries.stop_summary(record.cancellation_id))
    cells = strip.strip(closed, store.show(job.id), Settings())
    [gone] = [cell for cell in cells if cell.name == "Gone"]
    assert gone.mark == "done"
