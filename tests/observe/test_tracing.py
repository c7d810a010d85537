"""Spans across enqueue, run and stop, of a program and a worker that trace."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import tenure
from tenure.domain.lifecycle import Intent
from tenure.observe import tracing
from tenure.runtime.messages import Orders
from tenure.runtime.runner.attempt import Attempt
from tenure.store.store import Store
from tests.cli.running import process
from tests.conftest import wipe
from tests.factories import make_job
from tests.observe.scene import APP
from tests.workers import ROOT, running_worker

TRACED = Path(__file__).parent / "traced"
PATH = os.pathsep.join([str(TRACED), str(Path(tenure.__file__).parents[1]), str(ROOT)])

Told = dict[str, Any]


@dataclass(frozen=True)
class Traces:
    jobs: dict[str, int]
    program: list[Told]
    worker: list[Told]  # spans of all its processes
    metrics: list[Told]  # of the program

    def run(self, job: str) -> Told:
        return self._of(self.worker, "run ", job)

    def ladder(self, job: str) -> Told:
        return self._of(self.worker, "stop ", job)

    def enqueue(self, job: str) -> Told:
        found = self._parent_of(self.run(job))
        assert found["name"].startswith("enqueue ")
        return found

    def stop(self, job: str) -> Told:
        return self._of(self.program, "cancel ", job)

    def _of(self, spans: list[Told], name: str, job: str) -> Told:
        [found] = [
            span
            for span in spans
            if span["name"].startswith(name) and span["facts"]["tenure.job"] == self.jobs[job]
        ]
        return found

    def _parent_of(self, span: Told) -> Told:
        [found] = [one for one in self.program + self.worker if one["id"] == span["parent"]]
        return found


@pytest.fixture(scope="module")
def traces(shared_database: str, tmp_path_factory: pytest.TempPathFactory) -> Traces:
    wipe(shared_database)
    folder = tmp_path_factory.mktemp("traced")
    settings = {"PYTHONPATH": PATH, "TENURE_TEST_TRACED": "1"}
    with running_worker(shared_database, folder, app=APP, settings=settings) as worker:
        done = subprocess.run(
            [sys.executable, str(TRACED / "program.py"), str(folder)],
            cwd=ROOT,
            env={
                **{n: value for n, value in os.environ.items() if not n.startswith("TENURE_")},
                "PYTHONPATH": PATH,
                "TENURE_DATABASE_URL": shared_database,
            },
            capture_output=True,
            text=True,
            timeout=90,
        )
        assert done.returncode == 0, done.stderr
        assert worker.drain() == 0
    told = json.loads(done.stdout)
    spans = [
        json.loads(line)
        for file in folder.glob("spans-*.jsonl")
        for line in file.read_text().splitlines()
    ]
    [resource] = told["metrics"]["resource_metrics"]
    [scope] = resource["scope_metrics"]
    return Traces(told["jobs"], told["spans"], spans, scope["metrics"])


def test_a_run_is_below_the_span_that_enqueued_it_in_the_same_trace(traces: Traces) -> None:
    [request] = [span for span in traces.program if span["name"] == "request"]
    for job in ("calm", "fails", "waits", "sleeps", "named"):
        run, enqueue = traces.run(job), traces.enqueue(job)
        assert (run["kind"], enqueue["kind"]) == ("consumer", "producer")
        assert run["trace"] == enqueue["trace"] == request["trace"]
        assert enqueue["parent"] == request["id"]
        assert run["pid"] != request["pid"]


def test_jobs_that_were_enqueued_together_are_below_one_span(traces: Traces) -> None:
    together = traces.enqueue("calm-0")
    assert together == traces.enqueue("calm-1")
    assert together["facts"]["tenure.jobs"] == 2


def test_a_child_is_below_the_run_that_spawned_it(traces: Traces) -> None:
    # It runs twice: once until it waits for the child, and again when that has ended.
    [spawner] = [span for span in traces.worker if span["facts"].get("tenure.outcome") == "waits"]
    assert spawner["name"] == "run tests.apps.observed.spawns"
    [spawning] = [span for span in traces.worker if span["parent"] == spawner["id"]]
    assert spawning["name"] == "enqueue tests.apps.observed.calm"
    [child] = [span for span in traces.worker if span["parent"] == spawning["id"]]
    assert child["name"] == "run tests.apps.observed.calm"
    assert child["trace"] == traces.run("calm")["trace"]


def test_a_run_says_what_it_was_and_how_it_ended(traces: Traces) -> None:
    facts = traces.run("calm")["facts"]
    assert facts["messaging.system"] == "tenure"
    assert facts["tenure.task"] == "tests.apps.observed.calm"
    assert (facts["tenure.queue"], facts["tenure.tenant"]) == ("calm", "default")
    assert (facts["tenure.attempt"], facts["tenure.outcome"]) == (1, "completed")
    assert len(facts["tenure.worker"]) == 36


def test_spans_follow_the_conventions_for_messaging(traces: Traces) -> None:
    run, enqueue = traces.run("calm"), traces.enqueue("calm")
    for span, operation, kind in ((run, "run", "process"), (enqueue, "enqueue", "send")):
        facts = {n: v for n, v in span["facts"].items() if n.startswith("messaging.")}
        client = {"messaging.client.id": facts.get("messaging.client.id")} if span is run else {}
        assert facts == {
            "messaging.system": "tenure",
            "messaging.operation.name": operation,
            "messaging.operation.type": kind,
            "messaging.destination.name": "calm",
            "messaging.message.id": str(traces.jobs["calm"]),
            **client,
        }
    assert run["links"] == [enqueue["id"]]
    assert traces.enqueue("calm-0")["facts"]["messaging.batch.message_count"] == 2


def test_baggage_is_carried_to_the_run_and_to_what_it_spawns(traces: Traces) -> None:
    assert traces.run("calm")["facts"]["customer"] == "acme"
    [spawner] = [span for span in traces.worker if span["facts"].get("tenure.outcome") == "waits"]
    [spawning] = [span for span in traces.worker if span["parent"] == spawner["id"]]
    [child] = [span for span in traces.worker if span["parent"] == spawning["id"]]
    assert child["facts"]["customer"] == "acme"


def test_metrics_follow_the_conventions_for_messaging(traces: Traces) -> None:
    metrics = {metric["name"]: metric for metric in traces.metrics}
    assert {*metrics} == {"messaging.client.sent.messages", "messaging.client.operation.duration"}
    sent = metrics["messaging.client.sent.messages"]
    points = {
        point["attributes"]["messaging.destination.name"]: point["value"]
        for point in sent["data"]["data_points"]
    }
    assert (sent["unit"], points["calm"]) == ("{message}", 5)


def test_a_failure_is_told_by_its_type_alone(traces: Traces) -> None:
    failed = traces.run("fails")
    assert (failed["status"], failed["facts"]["error.type"]) == ("error", "ValueError")
    assert failed["description"] == "ValueError"


def test_a_stop_is_on_the_run_and_names_its_record(traces: Traces) -> None:
    for job in ("waits", "sleeps"):
        run, record = traces.run(job), traces.stop(job)["facts"]["tenure.cancellation"]
        assert [name for name, _ in run["events"]] == ["asked", "interrupted"]
        for _, facts in run["events"]:
            assert facts == {"tenure.cancellation": record, "tenure.by": "ada"}
        assert run["facts"]["tenure.outcome"] == "stopped"


def test_who_is_interrupted_before_its_orders_are_read_was_asked_before() -> None:
    attempt = Attempt(cast(Any, None), cast(Any, SimpleNamespace(interrupt_now=lambda _: None)))
    attempt.span, attempt.rung_times = cast(Any, "a span"), {}
    attempt.mark_asked()
    attempt.interrupt()
    attempt.ask_to_stop(Orders(Intent.CANCEL, "enough", "ada", 1.0))
    assert list(attempt.rung_times) == ["asked", "interrupted"]


def test_a_request_to_stop_links_to_the_trace_of_the_job(traces: Traces) -> None:
    for job in ("waits", "sleeps", "hogs"):
        stop = traces.stop(job)
        assert stop["kind"] == "client"
        [link] = stop["links"]
        [enqueue] = [span for span in traces.program if span["id"] == link]
        assert enqueue["facts"]["tenure.job"] == traces.jobs[job]


def test_a_stop_by_the_command_line_links_to_the_trace_of_the_job(
    database: str, store: Store, tmp_path: Path
) -> None:
    trace, span = "1" * 32, "2" * 16
    job = make_job(store, options={tracing.TRACE: f"00-{trace}-{span}-01"})
    env = {"TENURE_TEST_TRACED": "1", "TENURE_TEST_FOLDER": str(tmp_path)}
    done = process(database, "job", "cancel", str(job), PYTHONPATH=PATH, **env)
    assert done.code == 0, done.err
    [line] = [line for file in tmp_path.iterdir() for line in file.read_text().splitlines()]
    found = json.loads(line)
    assert (found["name"], found["kind"], found["links"]) == ("cancel job", "client", [span])
    assert found["facts"]["tenure.cancellation"] == store.cancellation(job=job).cancellation_id


def test_the_ladder_of_what_was_killed_is_told_by_its_keeper(traces: Traces) -> None:
    ladder = traces.ladder("hogs")
    assert [name for name, _ in ladder["events"]] == ["asked", "killed"]
    assert ladder["facts"]["tenure.cause"] == "stop"
    assert (
        ladder["facts"]["tenure.cancellation"]
        == (traces.stop("hogs")["facts"]["tenure.cancellation"])
    )
    assert ladder["trace"] == traces.stop("hogs")["trace"]
    with pytest.raises(ValueError, match="not enough values"):
        traces.run("hogs")


def test_a_stop_that_was_refused_is_an_error(traces: Traces) -> None:
    [refused] = [span for span in traces.program if span["facts"].get("tenure.job") == 999]
    assert (refused["status"], refused["description"]) == ("error", "JobNotFound")
    assert refused["links"] == []


def test_what_a_job_was_called_with_is_in_no_span(traces: Traces) -> None:
    text = json.dumps(traces.program + traces.worker)
    for word in ("the argument", "the message", "by name", "no more"):
        assert word not in text


def test_a_program_that_does_not_trace_imports_nothing_and_begins_nothing() -> None:
    code = """
import sys
from tenure import Tenure
from tenure.domain.job import NewJob
import tenure
from tenure.domain.lifecycle import Intent
from tenure.observe import tracing
from tenure.runtime.messages import Orders
from tenure.runtime.runner.attempt import Attempt
import tenure.runtime.keeper.worker_process, tenure.runtime.runner.loop

assert not tracing.is_on()
span = tracing.enqueueing([NewJob(task="a")])
assert span is tracing.NOTHING
options = {"grace": "1s"}
assert span.carried(options) is options and span.carried(None) is None
with span:
    span.tell(a=1)
    span.happened("b")
tracing.flush()
print([name for name in sys.modules if name.startswith("opentelemetry")])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_a_program_that_only_has_it_imported_begins_nothing() -> None:
    code = """
import opentelemetry.trace
import tenure
from tenure.domain.lifecycle import Intent
from tenure.observe import tracing
from tenure.runtime.messages import Orders
from tenure.runtime.runner.attempt import Attempt

assert tracing.is_on()
trace = "00-" + "1" * 32 + "-" + "2" * 16 + "-01"
assert tracing.begin("run x", "consumer", parent=trace) is tracing.NOTHING
tracing.flush()
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "trace", [None, 7, "", "x", f"00-{'0' * 32}-{'1' * 16}-01", f"00-{'1' * 32}-{'2' * 16}-zz"]
)
def test_an_option_that_is_no_context_is_passed_over(trace: object) -> None:
    api = pytest.importorskip("opentelemetry.trace")
    assert tracing._context(api, trace) is None
