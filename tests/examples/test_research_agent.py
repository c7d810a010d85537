"""The research agent, killed and cancelled at each of its steps."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from examples.research_agent.agent import AT_ONCE, MAX_TOKENS, research
from examples.research_agent.model import CALLS

from tenure.errors import IllegalTransition
from tenure.testing import Databases, JobRun, Sandbox

STEPS = 6  # the plan, three answers, the draft, the publication
PROMPTS = 5  # of them ask the model
TOPIC = "green tea"


@pytest.fixture(scope="module")
def databases(server: str) -> Iterator[Databases]:
    with Databases(server) as databases:
        yield databases


@pytest.fixture
def sandbox(databases: Databases) -> Iterator[Sandbox]:
    with Sandbox(databases) as sandbox:
        yield sandbox


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which the fake model notes each call."""
    path = tmp_path / "calls"
    path.touch()
    monkeypatch.setenv(CALLS, str(path))
    return path


def begin(sandbox: Sandbox, folder: Path) -> JobRun[str]:
    return sandbox.run(research, TOPIC, folder=str(folder))


def finish(sandbox: Sandbox, run: JobRun[str]) -> JobRun[str]:
    """Run the job again until it has ended; approve the report when it asks."""
    for _ in range(STEPS + 2):
        if run.status in ("completed", "cancelled", "failed"):
            return run
        if run.handle.questions():
            run.handle.answer({"ok": True})
        run = sandbox.run_again(run)
    raise AssertionError(f"still {run.status}")


@pytest.mark.parametrize("step", range(1, STEPS))
def test_it_is_killed_after_a_step_and_repeats_only_what_was_in_flight(
    sandbox: Sandbox, calls: Path, tmp_path: Path, step: int
) -> None:
    sandbox.kill_at(step=step)
    run = begin(sandbox, tmp_path / "out")
    kept = {record.name for record in run.handle.steps()}
    assert len(kept) >= step
    before = calls.read_text().splitlines()
    run = finish(sandbox, run)
    is_published(run, tmp_path / "out")
    repeated = len(calls.read_text().splitlines()) - PROMPTS
    assert 0 <= repeated <= len(before) - len(kept) <= AT_ONCE - 1
    assert 0 < run.spent["tokens"] <= (PROMPTS + repeated) * MAX_TOKENS


def test_it_is_killed_after_its_publication_and_publishes_once(
    sandbox: Sandbox, calls: Path, tmp_path: Path
) -> None:
    run = begin(sandbox, tmp_path / "out")
    run.handle.answer({"ok": True})
    sandbox.kill_at(step=1)  # of this attempt: the others are kept
    run = sandbox.run_again(run)
    [path] = (tmp_path / "out").iterdir()
    path.unlink()
    run = finish(sandbox, run)
    assert run.value == str(path)
    assert not path.exists(), "the step was kept, so it did not run again"


def is_published(run: JobRun[str], folder: Path) -> None:
    assert run.value == str(folder / "green-tea.md")
    assert "# green tea" in Path(run.value).read_text()
    steps = [record for record in run.handle.steps() if record.kind == "step"]
    assert [record.status for record in steps] == ["done"] * STEPS


@pytest.mark.parametrize("step", range(1, STEPS))
def test_it_is_cancelled_after_a_step_and_leaves_nothing_open(
    sandbox: Sandbox, calls: Path, tmp_path: Path, step: int
) -> None:
    sandbox.cancel_at(step=step)
    run = begin(sandbox, tmp_path / "out")
    assert run.status == "cancelled"
    assert run.handle.questions() == ()
    assert len(calls.read_text().splitlines()) <= PROMPTS
    assert not (tmp_path / "out").exists()


def test_a_report_that_nobody_approves_is_not_published(
    sandbox: Sandbox, calls: Path, tmp_path: Path
) -> None:
    run = begin(sandbox, tmp_path / "out")
    assert len(run.handle.questions()) == 1
    run.handle.answer({"ok": False, "note": "too short"})
    run = sandbox.run_again(run)
    assert run.status == "failed"
    assert "too short" in str(run.error)
    assert not (tmp_path / "out").exists()
    with pytest.raises(IllegalTransition):
        run.handle.answer({"ok": True})


def test_a_budget_that_does_not_suffice_pauses_it_before_the_call(
    sandbox: Sandbox, calls: Path, tmp_path: Path
) -> None:
    run = sandbox.run(research.using(budget={"tokens": MAX_TOKENS + 5}), TOPIC, str(tmp_path))
    assert run.status == "paused"
    assert run.spent["tokens"] <= MAX_TOKENS + 5
    made = len(calls.read_text().splitlines())
    run.handle.resume(budget={"tokens": 2_000})
    run = finish(sandbox, sandbox.run_again(run))
    assert run.status == "completed"
    assert len(calls.read_text().splitlines()) == PROMPTS >= made


class Model(BaseHTTPRequestHandler):
    """An API of a model that is busy the first time."""

    asked = 0

    def do_POST(self) -> None:
        type(self).asked += 1
        self.rfile.read(int(self.headers["content-length"]))
        is_busy = type(self).asked == 1
        body = (
            b"{}"
            if is_busy
            else b'{"choices": [{"message": {"content": "Why?"}}], "usage": {"total_tokens": 7}}'
        )
        self.send_response(429 if is_busy else 200)
        self.send_header("retry-after", "0.2")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Be silent."""


def test_a_real_model_that_is_busy_is_asked_again(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with HTTPServer(("127.0.0.1", 0), Model) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("RESEARCH_MODEL_URL", f"http://127.0.0.1:{server.server_port}")
        run = begin(sandbox, tmp_path)
        assert run.status == "retrying"
        assert "busy" in str(run.error)
        run = finish(sandbox, run)
        server.shutdown()
    assert run.status == "completed"
