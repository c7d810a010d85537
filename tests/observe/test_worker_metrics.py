"""What a worker shows at --metrics."""

import subprocess
import sys
import urllib.error
from pathlib import Path

import pytest

from tenure.observe.series import Source, of
from tests.observe.reading import complaints, label_values, promtool, samples, value
from tests.observe.scene import APP, Seen, scrape
from tests.workers import ROOT, running_worker


def test_every_series_of_a_worker_is_shown_and_no_other(seen: Seen) -> None:
    shown = {name for series in of(Source.WORKER) for name in series.shown}
    assert set(samples(seen.page)) == {f"tenure_{name}" for name in shown}


@promtool
def test_the_tool_of_prometheus_finds_nothing_wrong_with_the_page(seen: Seen) -> None:
    assert complaints(seen.page) == ""


def test_every_sample_has_the_labels_that_are_documented(seen: Seen) -> None:
    documented = {name: set(one.labels) for one in of(Source.WORKER) for name in one.shown}
    for name, found in samples(seen.page).items():
        for labels in found:
            assert {one for one, _ in labels} - {"le"} == documented[name.removeprefix("tenure_")]


def test_attempts_are_counted_by_queue_and_outcome(seen: Seen) -> None:
    page = seen.page
    assert value(page, "tenure_jobs_claimed_total", queue="calm", tenant="default") == 2
    assert value(page, "tenure_jobs_claimed_total", queue="bad") == 6
    ended = "tenure_jobs_ended_total"
    assert value(page, ended, queue="calm", outcome="completed") == 2
    assert value(page, ended, queue="bad", outcome="failed") == 4
    assert value(page, ended, queue="bad", outcome="retry") == 1
    assert value(page, ended, queue="bad", outcome="crashed") == 1
    assert value(page, ended, queue="long", outcome="stopped") == 5
    assert value(page, ended) == value(page, "tenure_jobs_claimed_total")
    assert value(page, "tenure_job_wait_seconds_count") == value(page, ended)
    assert value(page, "tenure_job_run_seconds_count") == value(page, ended)


def test_how_long_they_waited_and_ran_is_in_seconds(seen: Seen) -> None:
    waited = value(seen.page, "tenure_job_wait_seconds_sum", queue="calm")
    assert 0 < waited < 20
    ran = value(seen.page, "tenure_job_run_seconds_sum", queue="long")
    assert 1.5 < ran < 60  # one of them slept for as long, and one took its whole grace


def test_rungs_are_counted_by_what_they_were_climbed_for(seen: Seen) -> None:
    rungs = "tenure_rungs_reached_total"
    assert value(seen.page, rungs, cause="stop", rung="asked") == 5
    assert value(seen.page, rungs, cause="stop", rung="killed") == 2
    assert value(seen.page, rungs, cause="timeout", rung="interrupted") == 1
    assert value(seen.page, rungs, cause="preemption") == 0


def test_resources_are_counted_by_how_they_were_closed(seen: Seen) -> None:
    cleaned = "tenure_resources_cleaned_total"
    assert value(seen.page, cleaned, outcome="graceful") == 2
    assert value(seen.page, cleaned, outcome="forced") == 1
    assert value(seen.page, cleaned, outcome="failed") == 1
    assert label_values(seen.page, cleaned, "outcome") == {"graceful", "forced", "failed"}


def test_the_rest_is_counted_too(seen: Seen) -> None:
    assert value(seen.page, "tenure_loops_blocked_total") == 1
    assert value(seen.page, "tenure_exchange_seconds_count") > 10
    assert value(seen.page, "tenure_listener_live") == 1
    assert value(seen.page, "tenure_orphan_processes_reaped_total") >= 0


def test_a_worker_shows_its_metrics_and_nothing_else(database: str, tmp_path: Path) -> None:
    options = ("--metrics", "127.0.0.1:0")
    settings = {"TENURE_METRICS_PREFIX": "none"}
    with running_worker(database, tmp_path, *options, app=APP, settings=settings) as worker:
        assert "jobs_claimed_total" in scrape(worker)
        assert worker.drain() == 0
        with pytest.raises(urllib.error.URLError):
            scrape(worker)


def test_an_address_that_is_taken_is_a_sentence(database: str, tmp_path: Path) -> None:
    options = ("--metrics", "127.0.0.1:0")
    with running_worker(database, tmp_path, *options, app=APP) as worker:
        address = worker.says("metrics at").split("metrics at http://")[1].split("/")[0]
        command = ["worker", APP, "--url", database, "--metrics", address]
        again = subprocess.run(
            [sys.executable, "-m", "tenure", *command],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert again.returncode == 1
    port = address.rpartition(":")[2]
    assert f"metrics: port {port} of 127.0.0.1 is in use; stop the program" in again.stderr
    assert "Traceback" not in again.stderr


def test_a_keeper_that_nobody_scrapes_does_not_import_what_counts() -> None:
    code = """
import sys
import tenure.runtime.keeper.worker_process
from tenure.config import Settings
from tenure.observe.counting import Counting, counting

assert type(counting(Settings())) is Counting
print("prometheus_client" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
