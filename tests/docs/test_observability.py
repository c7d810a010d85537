"""The apps on the pages of OpenTelemetry, Sentry and structlog, run by real workers."""

import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tenure.domain.job import NewJob
from tenure.store.store import Store
from tests.docs.reading import write
from tests.factories import make_job
from tests.workers import ROOT, eventually, running_worker

HOW_TO = ROOT / "docs" / "how-to"
Item = dict[str, Any]


@contextmanager
def sentry() -> Iterator[tuple[str, list[tuple[str, Item]]]]:
    """Yield a DSN, and the items of the envelopes that are sent to it with their types."""
    items: list[tuple[str, Item]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers["content-encoding"] == "gzip":
                body = gzip.decompress(body)
            lines = body.splitlines()[1:]
            for head, item in zip(lines[::2], lines[1::2], strict=True):
                items.append((json.loads(head)["type"], json.loads(item)))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.05,)).start()
    yield f"http://key@127.0.0.1:{server.server_port}/1", items
    server.shutdown()
    server.server_close()


def test_errors_and_schedules_arrive_in_sentry(database: str, store: Store, tmp_path: Path) -> None:
    write(HOW_TO / "sentry.md", tmp_path)
    with (tmp_path / "reporting.py").open("a") as file:
        file.write(MORE)
    app = f"{tmp_path / 'reporting.py'}:app"
    with sentry() as (dsn, items):
        settings = {"SENTRY_DSN": dsn}
        with running_worker(database, tmp_path, app=app, settings=settings) as worker:
            failed = {
                make_job(store, f"reporting.{name}", args={"order": 7}, max_attempts=1): name
                for name in ("charge", "acharge", "tcharge")
            }
            quiet = [make_job(store, f"reporting.{name}") for name in ("pauses", "calm")]
            scheduled = store.enqueue_reserved(
                NewJob(task="reporting.import_orders"), by="schedule:nightly-import", via="worker"
            )[0].id
            for job in (*failed, *quiet, scheduled):
                eventually(lambda: store.show(job).status not in ("queued", "running"))  # noqa: B023
            eventually(lambda: len([1 for kind, _ in items if kind == "event"]) == 4)
            eventually(lambda: len([1 for kind, _ in items if kind == "check_in"]) == 2)
        assert "behind" not in worker.log, "no thread of the SDK is taken for one of a job"
    events = {int(item["tags"]["tenure.job"]): item for kind, item in items if kind == "event"}
    for job, name in failed.items():
        event = events[job]
        assert event["exception"]["values"][0]["type"] == "LookupError"
        assert event["exception"]["values"][0]["mechanism"]["handled"] is False
        frames = event["exception"]["values"][0]["stacktrace"]["frames"]
        assert [frame["function"] for frame in frames] == [name]
        assert event["transaction"] == f"reporting.{name}"
        assert event["tags"]["tenure.tenant"] == "default"
        assert event["contexts"]["tenure"]["attempt"] == 1
        assert event["tags"]["tenure.queue"] == "default"
    calm = events[quiet[1]]
    assert (calm["message"], calm["tags"]["tenure.task"]) == ("all is well", "reporting.calm")
    first, last = (item for kind, item in items if kind == "check_in")
    assert first["check_in_id"] == last["check_in_id"]
    assert (first["status"], last["status"]) == ("in_progress", "ok")
    assert first["monitor_slug"] == "nightly-import"
    assert first["monitor_config"] == {
        "schedule": {"type": "crontab", "value": "0 3 * * *"},
        "timezone": "Europe/Berlin",
    }


def test_a_killed_job_is_reported_by_another_runner(
    database: str, store: Store, tmp_path: Path
) -> None:
    write(HOW_TO / "sentry.md", tmp_path)
    with (tmp_path / "reporting.py").open("a") as file:
        file.write(MORE)
    app = f"{tmp_path / 'reporting.py'}:app"
    with sentry() as (dsn, items):

        def events() -> dict[int, Item]:
            return {int(it["tags"]["tenure.job"]): it for kind, it in items if kind == "event"}

        with running_worker(database, tmp_path, app=app, settings={"SENTRY_DSN": dsn}):
            crashed = make_job(store, "reporting.crashes", max_attempts=1)
            eventually(lambda: store.show(crashed).status == "failed")
            slow = {
                make_job(store, f"reporting.{name}", max_attempts=1, options=SOON): name
                for name in ("stuck", "astuck")
            }
            stopped = make_job(store, "reporting.stuck", max_attempts=1)
            eventually(lambda: store.show(stopped).status == "running")
            store.stop(stopped, force=True)
            for job in slow:
                eventually(lambda: store.show(job).status == "failed")  # noqa: B023
            make_job(store, "reporting.calm")
            eventually(lambda: {crashed, *slow} <= events().keys())
        assert stopped not in events()
    for job, name in {crashed: "crashes", **slow}.items():
        event = events()[job]
        [error] = event["exception"]["values"]
        assert error["type"] == (store.show(job).error or {})["type"]
        assert error["mechanism"]["handled"] is False
        assert event["transaction"] == f"reporting.{name}"
        assert event["tags"]["tenure.attempt"] == 1
    assert events()[crashed]["exception"]["values"][0]["type"] == "tenure.Crashed"


def test_the_only_runner_reports_an_attempt_that_it_has_outlived(
    database: str, store: Store, tmp_path: Path
) -> None:
    (tmp_path / "alone.py").write_text(ALONE)
    app = f"{tmp_path / 'alone.py'}:app"
    with (
        sentry() as (dsn, items),
        running_worker(database, tmp_path, app=app, settings={"SENTRY_DSN": dsn}),
    ):
        slow = make_job(store, "alone.slow", max_attempts=1, options=SOON)
        [event] = eventually(lambda: [it for kind, it in items if kind == "event"])
        assert event["exception"]["values"][0]["type"] == "tenure.Timeout"
        assert event["tags"]["tenure.job"] == slow
        quits = make_job(store, "alone.quits", max_attempts=1)
        event = eventually(lambda: [it for kind, it in items if kind == "event"][1:])[0]
        assert event["exception"]["values"][0]["type"] == "SystemExit"
        assert event["tags"]["tenure.job"] == quits


ALONE = """
import asyncio
import os
import sys
import sentry_sdk
from tenure import Tenure
from tenure.contrib.sentry import TenureIntegration

sentry_sdk.init(os.environ["SENTRY_DSN"], integrations=[TenureIntegration()])
app = Tenure()

@app.task(retry=0)
async def slow() -> None:
    await asyncio.sleep(60)

@app.task(retry=0)
async def quits() -> None:
    sys.exit("no licence")
"""
SOON = {"timeout": 0.3, "grace": 0.2}
MORE = """
import os, time
from tenure import Pause

@app.task(retry=0)
def crashes() -> None:
    os.kill(os.getpid(), 9)

@app.task(retry=0)
def stuck() -> None:
    while True:
        try:
            time.sleep(60)
        except BaseException:
            pass

@app.task(retry=0)
async def astuck() -> None:
    import asyncio
    await asyncio.sleep(60)

@app.task(retry=0)
async def acharge(order: int) -> None:
    raise LookupError(f"there is no order {order}")

@app.task(retry=0, executor="thread")
def tcharge(order: int) -> None:
    raise LookupError(f"there is no order {order}")

@app.task(retry=0)
def pauses() -> None:
    raise Pause("needs a human")

@app.task(retry=0)
def calm() -> None:
    sentry_sdk.capture_message("all is well")
"""


@pytest.mark.parametrize("task", ["charge", "refund"])
def test_every_line_of_structlog_names_its_job(
    database: str, store: Store, tmp_path: Path, task: str
) -> None:
    write(HOW_TO / "structlog.md", tmp_path)
    with running_worker(database, tmp_path, app=f"{tmp_path / 'logged.py'}:app"):
        job = make_job(store, f"logged.{task}", args={"order": 7})
        [row] = eventually(lambda: store.job_output(job, "logs"), "its line is kept")
        line = json.loads(row["line"])
        assert {name: line[name] for name in ("tenant", "job", "task", "attempt", "order")} == {
            "tenant": "default",
            "job": job,
            "task": f"logged.{task}",
            "attempt": 1,
            "order": 7,
        }


def test_baggage_comes_to_the_app_of_the_page(database: str, store: Store, tmp_path: Path) -> None:
    write(HOW_TO / "opentelemetry.md", tmp_path)
    trace = f"00-{'1' * 32}-{'2' * 16}-01;customer=acme"
    with running_worker(database, tmp_path, app=f"{tmp_path / 'traced.py'}:app"):
        job = make_job(store, "traced.charge", args={"order": 7}, options={"trace": trace})
        eventually(lambda: store.show(job).status == "completed", "it runs")
    assert store.show(job).result == "acme"
