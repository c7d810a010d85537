"""``tenure job steps``, ``questions``, ``answer`` and ``fork``."""

import json

from tenure.store.store import Store
from tests.cli.running import Cli
from tests.store.test_steps import keep, running, step, waiting


def test_questions_are_listed_and_answered(cli: Cli, store: Store) -> None:
    assert "there are no open questions" in cli("job", "questions").out
    _, job = waiting(store, "question")
    [question] = store.questions()
    assert "Well?" in cli("job", "questions").out
    listed = json.loads(cli("job", "questions", str(job), "--json").out)
    assert listed[0]["schema"] == {"type": "object"}
    wrong = cli("job", "answer", str(job), "yes")
    assert (wrong.code, "it takes an object" in wrong.err) == (2, True)
    done = cli("job", "answer", str(job), '{"ok": true}')
    assert done.out == f"Question {question.id} of job {job} is answered.\n"
    late = cli("job", "answer", str(job), '{"ok": true}', "--question", str(question.id))
    assert (late.code, "was answered by" in late.err) == (11, True)


def test_steps_are_shown_and_forked(cli: Cli, store: Store) -> None:
    worker, job = running(store)
    keep(worker, job, step("plan"), step("draft", spent={"tokens": 3}))
    shown = cli("job", "show", str(job.id)).out
    assert "Steps" in shown
    assert "3 tokens" in shown
    assert "plan" in cli("job", "steps", str(job.id)).out
    fork = cli("job", "fork", str(job.id), "--from", "draft", "--set", "plan=[2]", "--json")
    new = json.loads(fork.out)["id"]
    assert [(each.name, each.value) for each in store.steps(new)] == [("plan", [2])]
    again = cli("job", "rerun", str(job.id), "--from", "draft", "--json")
    assert [each.value for each in store.steps(json.loads(again.out)["id"])] == [1]
    wrong = cli("job", "fork", str(job.id), "--from", "nothing")
    assert (wrong.code, "has no step 'nothing'; it has: plan, draft" in wrong.err) == (10, True)
