"""Agents of Pydantic AI in jobs, with the package's own models for tests."""

import asyncio
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

from tenure.contrib.pydantic_ai import TenureDurability
from tenure.control.task import Task
from tenure.errors import IllegalTransition
from tenure.testing import JobRun, Sandbox
from tests.apps import pydantic_agents as agents
from tests.docs.reading import write
from tests.workers import ROOT

REPORT = "page 0 page 1 page 2"
CALLS = ["model 0 of 3", "read 0", "read 1", "model 2 of 3", "read 2", "model 3 of 3"]


@pytest.fixture(autouse=True)
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TENURE_TEST_FOLDER", str(tmp_path))
    return tmp_path / "calls"


def kinds(run: JobRun[str]) -> list[str]:
    """Return the names of the steps, without the ids that the package made."""
    return [step.name.partition(":pyd_ai_")[0] for step in run.handle.steps()]


@pytest.mark.parametrize("kept", range(1, len(CALLS) + 1))
def test_a_killed_run_repeats_no_step_that_was_kept(
    sandbox: Sandbox, calls: Path, kept: int
) -> None:
    sandbox.kill_at(step=kept)
    run = sandbox.run(agents.research, 3)
    before = Counter(calls.read_text().splitlines())
    in_flight = before.total() - len(run.handle.steps())
    run = sandbox.run_again(run)
    assert run.value == REPORT
    made = Counter(calls.read_text().splitlines())
    assert made.keys() == set(CALLS)
    assert made.total() - len(CALLS) == in_flight <= 1  # two pages are read at once
    assert [step.changes for step in run.handle.steps()] == [0] * len(CALLS)


@pytest.mark.parametrize(
    "task",
    [agents.research, agents.research_process, agents.research_thread],
    ids=lambda task: str(task.name.rpartition(".")[2]),
)
def test_what_a_run_costs_is_spent_by_its_steps_in_every_executor(
    sandbox: Sandbox, calls: Path, task: Task[[int], str]
) -> None:
    run = sandbox.run(task, 3)
    assert run.value == REPORT
    assert calls.read_text().splitlines() == CALLS
    assert kinds(run) == ["reader.model", "reader.read", "reader.read", "reader.model#2",
                          "reader.read", "reader.model#3"]  # fmt: skip
    assert [step.spent for step in run.handle.steps() if step.spent] == [
        {"requests": 1, "tokens": 15}
    ] * 3
    assert run.spent == {"requests": 3, "tokens": 45}


def test_a_request_that_the_budget_does_not_allow_is_not_made(
    sandbox: Sandbox, calls: Path
) -> None:
    run = sandbox.run(agents.research.using(budget={"tokens": 125}, retry=0), 3)
    assert "budget" in str(run.error)
    assert calls.read_text().splitlines() == CALLS[:5]  # 30 spent: the third reserves 100
    assert run.spent["tokens"] == 30


def test_a_person_approves_one_call_and_answers_another(sandbox: Sandbox, calls: Path) -> None:
    run = sandbox.run(agents.clean)
    [question] = run.handle.questions()
    assert (question.text, question.role) == ('Call delete({"name": "a"})?', "operator")
    run.handle.answer({"ok": True})
    run = sandbox.run_again(run)
    [question] = run.handle.questions()
    assert question.text == 'What is the result of look_up({"what": "b"})?'
    run.handle.answer({"found": 3})
    run = sandbox.run_again(run)
    assert run.value == "deleted a; {'found': 3}"
    assert calls.read_text().splitlines() == ["model 0", "delete a", "model 2"]


def test_a_call_that_nobody_allows_is_denied_and_not_made(sandbox: Sandbox, calls: Path) -> None:
    run = sandbox.run(agents.clean)
    run.handle.answer({"ok": False, "note": "keep it"})
    run = sandbox.run_again(run)
    sandbox.clock.advance("8d")
    run = sandbox.run_again(run)
    assert run.value == "keep it; nobody answered in time"
    assert "delete a" not in calls.read_text()
    with pytest.raises(IllegalTransition):
        run.handle.answer({"found": 3})


def test_the_text_of_a_model_is_streamed_once(sandbox: Sandbox, calls: Path) -> None:
    sandbox.kill_at(emit=1)
    run = sandbox.run(agents.tell)
    assert "".join(partial["text"] for partial in run.partials) == "It is "
    run = sandbox.run_again(run)
    assert run.value == "It is tea."
    assert "".join(partial["text"] for partial in run.partials) == "It is tea."
    assert len(run.partials) == 2
    assert kinds(run) == ["writer.model"]


def test_agents_in_parallel_and_below_each_other_keep_their_steps_apart(
    sandbox: Sandbox, calls: Path
) -> None:
    sandbox.kill_at(step=12)
    run = sandbox.run(agents.lead)
    before = len(calls.read_text().splitlines())
    kept = [step.name for step in run.handle.steps() if "reader" in step.name]
    run = sandbox.run_again(run)
    assert run.value == [f"page 0, {REPORT}"] * 2
    made = calls.read_text().splitlines()
    alone = 2 * (len(CALLS) + 3)  # each of two agents asks for one page, and for three
    assert len(made) - alone <= before - len(kept)
    names = [step.name for step in run.handle.steps()]
    assert len(set(names)) == len(names) == alone + 2 * 4
    assert {name.partition(".")[0] for name in names} == {"leader", "leader(2)"}
    assert not any(step.changes for step in run.handle.steps())


def test_outside_of_jobs_an_agent_runs_as_without(calls: Path) -> None:
    result = asyncio.run(agents.reader.run("1"))
    assert result.output == "page 0"
    agent = Agent(TestModel(), name="plain", capabilities=[TenureDurability()])
    assert asyncio.run(agent.run("hello")).output == "success (no tool calls)"


def test_the_guide_works_as_it_is_written(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(ROOT / "docs" / "how-to" / "pydantic-ai.md", tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    edit = import_module("newsroom").edit
    run = sandbox.run(edit, "tea")
    [question] = run.handle.questions()
    assert question.text == 'Call publish({"headline": "a"})?'
    run.handle.answer({"ok": True})
    run = sandbox.run_again(run)
    assert run.value == '{"search":"what is known about a","publish":"published a"}'
    assert [partial["text"] for partial in run.partials] == [run.value]
    assert 0 < run.spent["tokens"] < 4000
