"""Steps, waits, questions and events as the verbs keep them."""

import json
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from tenure.domain.lifecycle import Intent, Reason, State
from tenure.domain.step import WaitState
from tenure.domain.tenant import Tenant
from tenure.errors import IllegalTransition, InputRefused, NotAllowed, NotFound
from tenure.store import schema
from tenure.store.outcomes import Report
from tenure.store.results import Claimed
from tenure.store.store import Store
from tenure.testing import Clock
from tests.factories import Worker, make_job, make_worker, promote

YES = json.dumps({"ok": True})


def running(store: Store, **fields: Any) -> tuple[Worker, Claimed]:
    make_job(store, **fields)
    promote(store)
    worker = make_worker(store, timedelta(hours=1))
    return worker, worker.claim_one()


def step(name: str, digest: str = "d", **more: Any) -> Any:
    return {"name": name, "digest": digest, "attempts": 1, "took": 0.5, "value": 1, **more}


def keep(worker: Worker, job: Claimed, *steps: Any, **more: Any) -> Any:
    report = Report(job=job.id, token=job.token, steps=list(steps), **more)
    return worker.store.report(worker.id, [report])


def wait(worker: Worker, job: Claimed, kind: str, name: str = "", **more: Any) -> WaitState:
    asked: dict[str, Any] = {"name": name or kind, "digest": kind, "kind": kind, "within": None}
    if kind == "question":
        asked["question"] = {"text": "Well?", "schema": {"type": "object"}, "role": None}
    if kind == "event":
        asked |= {"event": "paid", "key": "7"}
    return worker.store.await_step(worker.id, job.id, job.token, {**asked, **more})


def waiting(
    store: Store, kind: str, *, owner: str | None = None, **more: Any
) -> tuple[Worker, int]:
    """A job that has given its slot back and waits."""
    worker, job = running(store, **({} if owner is None else {"owner": owner}))
    seen = wait(worker, job, kind, **more)
    assert seen.state == "open"
    until = {"question": "answer", "event": "event", "sleep": "time"}[kind]
    worker.finish(job, "released", until=until, run_at=seen.due_at)
    promote(store)
    assert store.show(job.id).waiting == Reason(until)
    return worker, job.id


def test_a_step_is_kept_under_the_fence_and_read_by_its_holder(store: Store) -> None:
    worker, job = running(store)
    assert keep(worker, job, step("plan", value={"a": 1}), step("read")).accepted == (job.id,)
    kept = store.kept_steps(worker.id, job.id, job.token)
    assert [(each.name, each.digest, each.value) for each in kept.steps] == [
        ("plan", "d", {"a": 1}),
        ("read", "d", 1),
    ]
    other = make_worker(store)
    with pytest.raises(IllegalTransition, match="does not hold job"):
        store.kept_steps(other.id, job.id, job.token)


def test_a_late_step_is_refused(store: Store) -> None:
    worker, job = running(store)
    worker.release(job)
    assert keep(worker, job, step("plan")).refused == (job.id,)
    assert store.steps(job.id) == ()


def test_a_step_that_runs_again_is_counted_as_changed_only_with_other_arguments(
    store: Store,
) -> None:
    worker, job = running(store)
    keep(worker, job, step("a", error={"message": "no"}, spent={"t": 2}))
    keep(worker, job, step("b"))
    keep(worker, job, step("a", spent={"t": 3}))
    [b, a] = store.steps(job.id)
    assert (a.name, a.changes, a.attempts, a.spent, a.status) == ("a", 0, 2, {"t": 5}, "done")
    assert b.name == "b"
    keep(worker, job, step("b", "other"))
    assert store.steps(job.id)[-1].changes == 1


def test_a_failed_step_is_shown_and_does_not_answer(store: Store) -> None:
    worker, job = running(store)
    keep(worker, job, step("a", value=None, error={"type": "E", "message": "no"}))
    assert store.steps(job.id)[0].status == "failed"
    assert store.kept_steps(worker.id, job.id, job.token).steps == ()


def test_partial_results_of_a_step_that_did_not_end_are_forgotten_when_it_runs_again(
    store: Store,
) -> None:
    worker, job = running(store)
    keep(worker, job, partials=[1, 2, 3], partial_steps=[None, "a", "b"])
    keep(worker, job, step("b"))
    assert store.kept_steps(worker.id, job.id, job.token).unfinished == ("a",)
    keep(worker, job, partials=[4], partial_steps=["a"], forget_partials=["a"])
    assert [each["value"] for each in store.job_output(job.id, "partials")] == [1, 3, 4]


def test_a_thousand_steps_are_read_at_once(store: Store) -> None:
    worker, job = running(store)
    keep(worker, job, *(step(f"s#{n}") for n in range(1000)))
    assert len(store.kept_steps(worker.id, job.id, job.token).steps) == 1000


def test_an_answer_wakes_its_job_and_is_kept(store: Store) -> None:
    worker, job = waiting(store, "question")
    [question] = store.questions()
    assert (question.job_id, question.text) == (job, "Well?")
    assert store.answer(job, YES, by="ada").answered_by == "ada"
    assert store.questions() == ()
    promote(store)
    claimed = worker.claim_one()
    assert (claimed.id, claimed.attempt) == (job, 1)
    assert wait(worker, claimed, "question").value == {"ok": True}
    [entry] = [found for found in store.audit_log() if found.verb == "answer"]
    assert (entry.actor, entry.name) == ("ada", str(job))


def test_an_answer_that_comes_while_the_job_still_runs_is_not_lost(store: Store) -> None:
    worker, job = running(store)
    assert wait(worker, job, "question").state == "open"
    store.answer(job.id, YES)
    promote(store)
    worker.finish(job, "released", until="answer")
    promote(store)
    assert wait(worker, worker.claim_one(), "question").state == "arrived"


def test_only_one_answer_counts(store: Store) -> None:
    _, job = waiting(store, "question")
    store.answer(job, YES, by="ada")
    with pytest.raises(IllegalTransition, match="was answered by ada at"):
        store.answer(job, YES)


def test_a_late_answer_is_refused_and_the_job_continues(store: Store, clock: Clock) -> None:
    worker, job = waiting(store, "question", within=60)
    clock.advance(timedelta(seconds=61))
    with pytest.raises(IllegalTransition, match="is late"):
        store.answer(job, YES)
    promote(store)
    claimed = worker.claim_one()
    assert wait(worker, claimed, "question", within=60).state == "timeout"
    assert store.steps(job)[0].status == "timeout"


def test_the_deadline_of_a_repeated_wait_is_that_of_the_first(store: Store, clock: Clock) -> None:
    worker, job = running(store)
    first = wait(worker, job, "question", within=60)
    clock.advance(timedelta(seconds=30))
    assert wait(worker, job, "question", within=60).due_at == first.due_at


@pytest.mark.parametrize(
    ("role", "by", "has", "may"),
    [
        (None, "owner", "operator", True),
        (None, "another", "operator", False),
        (None, "another", "admin", True),
        (None, "owner", "viewer", False),
        ("viewer", "another", "viewer", True),
        ("operator", "another", "operator", True),
        ("operator", "another", "viewer", False),
        ("admin", "owner", "operator", False),
        ("admin", "another", "admin", True),
    ],
)
def test_who_may_answer(
    store: Store, database: str, role: str | None, by: str, has: str, may: bool
) -> None:
    worker, job = running(store, owner="owner")
    question: dict[str, Any] = {"text": "Well?", "schema": {}, "role": role}
    wait(worker, job, "question", question=question)
    statement = "SELECT tenure.answer(%s, 'true', by => %s, role => %s)"
    with psycopg.connect(database) as connection:
        [answer] = connection.execute(statement, (job.id, by, has)).fetchone() or ()
    assert ("forbidden" not in answer) is may


@pytest.mark.parametrize("state", [State.CANCELLED, State.PAUSED])
def test_a_question_of_a_stopped_job(store: Store, state: State) -> None:
    worker, job = waiting(store, "question")
    if state is State.CANCELLED:
        store.stop(job)
        with pytest.raises(IllegalTransition, match="which is cancelled"):
            store.answer(job, YES)
        assert store.questions() == ()
        return
    store.stop(job, intent=Intent.PAUSE)
    store.answer(job, YES)
    store.resume(job)
    assert wait(worker, worker.claim_one(), "question").state == "arrived"


def test_a_job_that_is_resumed_before_the_answer_asks_again(store: Store) -> None:
    worker, job = waiting(store, "question")
    store.stop(job, intent=Intent.PAUSE)
    store.resume(job)
    claimed = worker.claim_one()
    assert claimed.id == job
    assert wait(worker, claimed, "question").state == "open"


def test_what_never_was_asked_cannot_be_answered(store: Store) -> None:
    worker, job = running(store)
    with pytest.raises(NotFound, match="has not asked anything"):
        store.answer(job.id, YES)
    wait(worker, job, "question")
    with pytest.raises(NotFound, match="has no question 999"):
        store.answer(job.id, YES, 999)
    with pytest.raises(NotFound, match="no job 999"):
        store.answer(999, YES)


def test_an_answer_reaches_the_job_of_its_own_tenant_only(
    store: Store, sql: psycopg.Connection
) -> None:
    schema.migrate(sql, Tenant("acme"))
    acme = store.of(Tenant("acme"))
    assert waiting(store, "question")[1] == waiting(acme, "question")[1] == 1
    acme.answer(1, YES)
    assert acme.questions() == ()
    assert [question.job_id for question in store.questions()] == [1]


def test_an_event_wakes_every_job_that_waits_for_its_name_and_key(store: Store) -> None:
    worker, job = waiting(store, "event")
    _, other = waiting(store, "event")
    _, third = waiting(store, "event", key="8")
    store.publish("paid", "7", '{"sum": 5}')
    promote(store)
    claimed = worker.claim(3)
    assert {each.id for each in claimed} == {job, other}
    assert all(wait(worker, each, "event").value == {"sum": 5} for each in claimed)
    assert store.show(third).waiting == "event"


def test_an_event_published_before_the_wait_counts_until_its_retention_is_over(
    store: Store, clock: Clock
) -> None:
    store.publish("paid", "7", "1", keep=timedelta(seconds=60))
    store.publish("paid", "7", "2", keep=timedelta(seconds=600))
    worker, job = running(store)
    clock.advance(timedelta(seconds=61))
    assert wait(worker, job, "event").value == 2
    assert wait(worker, job, "event", "again").state == "open"


def test_a_job_that_waits_gets_an_event_however_briefly_it_is_kept(
    store: Store, clock: Clock
) -> None:
    worker, job = waiting(store, "event")
    clock.advance(timedelta(seconds=1))
    store.publish("paid", "7", "5", keep=timedelta(0))
    clock.advance(timedelta(seconds=1))
    store.prune({})
    promote(store)
    assert wait(worker, worker.claim_one(), "event").value == 5
    assert store.show(job).waiting is None


def test_a_job_gets_each_event_once_and_in_order(store: Store) -> None:
    store.publish("paid", "7", "1")
    store.publish("paid", "7", "2")
    worker, job = running(store)
    seen = [wait(worker, job, "event", name) for name in ("a", "b", "c")]
    assert [(each.state, each.value) for each in seen] == [
        ("arrived", 1),
        ("arrived", 2),
        ("open", None),
    ]


def test_an_event_of_a_transaction_arrives_with_its_commit(store: Store, database: str) -> None:
    _, job = waiting(store, "event")
    with psycopg.connect(database) as connection:
        connection.execute("SELECT tenure.publish('paid', '7')")
        promote(store)
        assert store.show(job).waiting == "event"
        connection.commit()
    promote(store)
    assert store.show(job).waiting is None


def test_old_events_are_pruned(store: Store, clock: Clock, database: str) -> None:
    store.publish("paid", keep=timedelta(seconds=60))
    store.publish("paid", keep=timedelta(days=2))
    clock.advance(timedelta(days=1))
    store.prune({State.COMPLETED: timedelta(days=1)})
    with psycopg.connect(database) as connection:
        assert connection.execute("SELECT count(*) FROM tenure.publication").fetchone() == (1,)


def test_steps_are_pruned_with_their_job(store: Store, clock: Clock, database: str) -> None:
    worker, job = running(store)
    keep(worker, job, step("a"))
    worker.finish(job)
    clock.advance(timedelta(days=30))
    store.roll_up()
    store.prune({State.COMPLETED: timedelta(days=1)})
    with psycopg.connect(database) as connection:
        assert connection.execute("SELECT count(*) FROM tenure.job_step").fetchone() == (0,)


def test_a_rerun_has_the_values_of_earlier_steps_only(store: Store) -> None:
    worker, job = running(store)
    keep(worker, job, step("plan"))
    keep(worker, job, step("read#2"), step("read"), step("read#2/parse"))
    keep(worker, job, step("draft"))
    plain = store.rerun(job.id)
    assert store.steps(plain.id) == ()
    again = store.rerun(job.id, from_step="read", steps={"draft": "edited"})
    assert [(each.name, each.value) for each in store.steps(again.id)] == [
        ("plan", 1),
        ("draft", "edited"),
    ]
    whole = store.rerun(job.id, steps={})
    assert len(store.steps(whole.id)) == 5
    assert job.id in keep(worker, job, step("late")).accepted  # its code still runs
    assert len(store.steps(whole.id)) == 5
    with pytest.raises(NotFound, match="has no step 'none'; it has: plan, read#2"):
        store.rerun(job.id, from_step="none")
    with pytest.raises(NotFound, match="has no step 'no'"):
        store.rerun(job.id, steps={"no": 1})


def test_a_fresh_resume_forgets_the_steps(store: Store) -> None:
    worker, job = running(store)
    keep(worker, job, step("a"))
    worker.finish(job, "stopped", intent=Intent.PAUSE)
    store.resume(job.id, fresh=True)
    assert store.steps(job.id) == ()


def test_a_wait_of_a_job_that_is_not_held_is_refused(store: Store) -> None:
    worker, job = running(store)
    worker.release(job)
    with pytest.raises(IllegalTransition, match="does not hold job"):
        wait(worker, job, "sleep", within=1)


def test_explain_names_what_a_job_waits_for(store: Store) -> None:
    for kind, reason, word in (
        ("question", "answer", "Well?"),
        ("event", "event", "event 'paid' with key '7'"),
        ("sleep", "sleep", "it sleeps (until"),
    ):
        _, job = waiting(store, kind, within=60)
        [found] = [each for each in store.explain(job).reasons if each.reason == reason]
        assert word in found.sentence


def test_bad_events_and_answers_are_refused_with_a_sentence(store: Store) -> None:
    for name, key, keep in (("", "", 1), ("x" * 201, "", 1), ("x", "k" * 501, 1), ("x", "", -1)):
        with pytest.raises(InputRefused, match="an event"):
            store.publish(name, key, keep=timedelta(seconds=keep))


def test_a_viewer_may_not_publish(store: Store, database: str) -> None:
    with psycopg.connect(database) as connection:
        call = "SELECT tenure.publish('paid', by => 'eve', role => 'viewer')"
        [answer] = connection.execute(call.encode()).fetchone() or ()
    assert "may not publish" in answer["forbidden"]
    assert NotAllowed.http_status == 403


def test_a_step_of_an_earlier_attempt_is_refused_beside_one_of_the_current(store: Store) -> None:
    worker, job = running(store)
    worker.release(job)
    promote(store)
    again = worker.claim_one()
    reports = [
        Report(job=job.id, token=each.token, steps=[step(name)])
        for each, name in ((job, "old"), (again, "new"))
    ]
    worker.store.report(worker.id, reports)
    assert [each.name for each in store.steps(job.id)] == ["new"]


def test_a_wait_of_another_attempt_is_refused(store: Store) -> None:
    worker, job = running(store)
    worker.release(job)
    promote(store)
    worker.claim_one()
    with pytest.raises(IllegalTransition, match="does not hold job"):
        wait(worker, job, "sleep", within=1)


def test_a_wait_without_a_deadline_is_never_due(store: Store, clock: Clock) -> None:
    _, job = waiting(store, "question")
    clock.advance(timedelta(days=3000))
    promote(store)
    assert store.show(job).waiting == "answer"
