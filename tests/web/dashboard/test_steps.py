"""Steps and questions on the pages: who may answers there, once."""

from tenure.store.store import Store
from tests.store.test_steps import keep, running, step, waiting
from tests.web.dashboard.visitor import Visitor, said, tags


def test_an_open_question_is_on_the_overview_and_answered_on_the_page_of_its_job(
    ann: Visitor, vic: Visitor, store: Store
) -> None:
    _, job = waiting(store, "question", owner="ann")
    [question] = store.questions()
    assert "1 question needs an answer Well?" in said(ann.sees("/"))
    assert f'href="/jobs/{job}#question-{question.id}"' in ann.sees("/questions")
    page = ann.sees(f"/jobs/{job}")
    assert "Well?" in said(page)
    assert f'id="question-{question.id}"' in page
    fields = {"value": '{"ok": true}', "question": str(question.id)}
    assert vic.does(f"/jobs/{job}/answer", **fields).status_code == 403
    assert ann.does(f"/jobs/{job}/answer", question="9" * 5000).status_code == 422
    assert ann.does(f"/jobs/{job}/answer", **fields).status_code == 303
    assert store.steps(job)[0].value == {"ok": True}
    assert "needs an answer" not in said(ann.sees("/"))


def test_steps_are_shown_and_escaped(ann: Visitor, store: Store) -> None:
    worker, job = running(store, owner="ann")
    keep(worker, job, step("<b>plan</b>", value="<i>x</i>", spent={"tokens": 3}))
    text = ann.sees(f"/jobs/{job.id}?tab=steps")
    assert "<b>plan</b>" not in text
    assert "<i>x</i>" not in text
    assert "<b>plan</b> done" in said(text)


def test_a_form_is_made_from_the_schema_of_the_answer(ann: Visitor, store: Store) -> None:
    properties = {
        "ok": {"type": "boolean", "description": "if in doubt, not"},
        "how": {"enum": ["card", 7], "description": "as agreed"},
        "sum": {"type": "number"},
        "note": {"type": "string"},
    }
    schema = {"type": "object", "properties": properties, "required": ["ok", "how"]}
    asked = {"text": "Refund?", "schema": schema, "role": None}
    _, job = waiting(store, "question", owner="ann", question=asked)
    [question] = store.questions()
    page = ann.sees(f"/jobs/{job}")
    fields = [at for tag, at in tags(page) if at.get("name", "").startswith("arg.")]
    assert [(at["name"], at.get("value"), "required" in at) for at in fields] == [
        ("arg.ok", "true", True),
        ("arg.ok", "false", True),
        ("arg.how", '"card"', True),
        ("arg.how", "7", True),
        ("arg.sum", "", False),
        ("arg.note", "", False),
    ]
    assert "ok if in doubt, not yes no" in said(page)
    sent = {
        "question": str(question.id),
        "arg.ok": "true",
        "arg.how": "7",
        "arg.note": "so be it",
    }
    wrong = ann.does(f"/jobs/{job}/answer", **{**sent, "arg.how": '"cash"'})
    assert wrong.status_code == 422
    assert ann.does(f"/jobs/{job}/answer", **{**sent, "arg.ok": "{"}).status_code == 422
    assert ann.does(f"/jobs/{job}/answer", question=str(question.id)).status_code == 422
    assert ann.does(f"/jobs/{job}/answer", **sent).status_code == 303
    assert store.steps(job)[0].value == {"ok": True, "how": 7, "note": "so be it"}
