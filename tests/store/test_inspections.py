"""inspect, answer_inspection, inspection: a worker looks into a job for a user who may stop it."""

import json
from datetime import timedelta
from typing import Any

import msgspec
import psycopg
import pytest

from tenure.domain.inspection import Inspection, InspectionAnswer
from tenure.domain.principal import Principal, Role
from tenure.errors import IllegalTransition, InputRefused, JobNotFound, NotAllowed
from tenure.store.call import Call
from tenure.store.calls import control_calls, queries
from tenure.store.outcomes import LogLine, Report
from tenure.store.results import Claimed
from tenure.store.store import Store
from tenure.testing import Clock
from tests.factories import Worker, end_as_stopped, make_job, make_worker
from tests.looks import SIGHT, answers, waiting


@pytest.fixture
def worker(store: Store) -> Worker:
    return make_worker(store, timedelta(hours=1))


@pytest.fixture
def job(store: Store, worker: Worker) -> Claimed:
    make_job(store, owner="ada")
    return worker.claim_one()


def count(sql: psycopg.Connection, table: str) -> int:
    row = sql.execute(f"SELECT count(*) FROM tenure.{table}".encode()).fetchone()
    assert row is not None
    return int(row[0])


def test_a_look_is_heard_with_the_beat_and_answered_once(
    store: Store, worker: Worker, job: Claimed
) -> None:
    assert store.inspection(job.id) is None
    asked = store.inspect(job.id, by="ada")
    assert (asked.job_id, asked.asked_by, asked.answered_at) == (job.id, "ada", None)
    assert waiting(worker) == [asked.id]
    assert store.inspection(job.id) == asked
    assert answers(worker, job, asked.id)
    seen = store.inspection(job.id)
    assert seen is not None
    assert (seen.id, seen.stacks, seen.processes, seen.notes) == (
        asked.id,
        SIGHT.stacks,
        SIGHT.processes,
        SIGHT.notes,
    )
    assert seen.answered_at is not None
    assert waiting(worker) == []
    assert not answers(worker, job, asked.id), "a late answer does not change what was seen"


def test_who_asks_while_a_question_is_open_joins_it(
    store: Store, worker: Worker, job: Claimed, clock: Clock
) -> None:
    first = store.inspect(job.id, by="ada")
    assert store.inspect(job.id, by="bob").id == first.id
    assert waiting(worker) == [first.id]
    clock.advance(timedelta(seconds=11))
    later = store.inspect(job.id, by="bob")
    assert later.id > first.id, "nobody waits for a worker that did not answer"
    assert waiting(worker) == [later.id]
    assert not answers(worker, job, first.id)
    assert answers(worker, job, later.id)
    assert store.inspect(job.id).id > later.id


def test_only_the_attempt_that_runs_can_be_looked_into(
    store: Store, worker: Worker, job: Claimed
) -> None:
    with pytest.raises(JobNotFound, match="there is no job 999"):
        store.inspect(999)
    look = store.inspect(job.id)
    forged = msgspec.structs.replace(job, token=job.token + 1)
    assert not answers(worker, forged, look.id)
    assert not answers(make_worker(store), job, look.id)
    worker.release(job)
    with pytest.raises(IllegalTransition, match="cannot inspect a job that is queued"):
        store.inspect(job.id)
    again = worker.claim_one()
    assert again.id == job.id
    assert store.inspection(job.id) is None, "what another attempt did is not its"
    fresh = store.inspect(job.id)
    assert not answers(worker, job, fresh.id), "the old token is worth nothing"
    assert answers(worker, again, fresh.id)


def test_a_worker_that_was_declared_dead_answers_nothing(
    store: Store, worker: Worker, job: Claimed, sql: psycopg.Connection
) -> None:
    look = store.inspect(job.id)
    sql.execute("UPDATE tenure.worker SET expires_at = beat_at, dead_at = beat_at")
    assert not answers(worker, job, look.id)


@pytest.mark.parametrize("stopped", [False, True])
def test_with_the_attempt_goes_all_that_was_seen(
    store: Store, worker: Worker, job: Claimed, sql: psycopg.Connection, stopped: bool
) -> None:
    look = store.inspect(job.id)
    if stopped:
        store.stop(job.id)
        assert len(store.renew(worker.id).signals) == 2
        end_as_stopped(worker, job)
    else:
        assert answers(worker, job, look.id)
        store.inspect(job.id)
        worker.finish(job)
    assert (count(sql, "inspection"), count(sql, "signal")) == (0, 0)
    assert store.inspection(job.id) is None


def test_what_was_seen_is_forgotten_after_an_hour(
    store: Store, worker: Worker, job: Claimed, sql: psycopg.Connection, clock: Clock
) -> None:
    store.inspect(job.id)
    clock.advance(timedelta(minutes=59))
    store.renew(worker.id)
    store.prune({})
    assert count(sql, "inspection") == 1
    clock.advance(timedelta(minutes=2))
    store.prune({})
    assert (count(sql, "inspection"), count(sql, "signal")) == (0, 0)


def test_the_signal_of_a_stop_outlives_the_look(store: Store, worker: Worker, job: Claimed) -> None:
    store.stop(job.id)
    look = store.inspect(job.id)
    assert answers(worker, job, look.id)
    [signal] = store.renew(worker.id).signals
    assert signal.orders["intent"] == "cancel"


def test_an_answer_is_an_object_of_a_limited_size(
    store: Store, worker: Worker, job: Claimed, sql: psycopg.Connection
) -> None:
    look = store.inspect(job.id)
    huge = InspectionAnswer((), (), ("x" * 300_000,))
    with pytest.raises(InputRefused, match="at most 262144 bytes"):
        answers(worker, job, look.id, huge)
    forged = json.dumps({"asked_by": "nobody", "notes": ["hello"]})
    sql.execute(
        "SELECT tenure.answer_inspection(%s, %s, %s, %s, %s::jsonb)",
        (worker.id, job.id, job.token, look.id, forged),
    )
    seen = store.inspection(job.id)
    assert seen is not None
    assert (seen.asked_by, seen.notes) == (look.asked_by, ("hello",))


@pytest.mark.parametrize(
    ("who", "role", "refusal"),
    [
        ("vic", Role.VIEWER, "vic is a viewer and may not inspect; an operator may"),
        ("otto", Role.OPERATOR, "belongs to ada; only ada or an admin may inspect it"),
        ("ada", Role.OPERATOR, None),
        ("root", Role.ADMIN, None),
    ],
)
def test_a_look_is_for_whoever_may_stop_the_job_and_is_on_record(
    store: Store, job: Claimed, who: str, role: Role, refusal: str | None
) -> None:
    principal = Principal(who, role, via="rest")
    calls: list[Call[Any]] = [control_calls.inspect(job.id), queries.inspection(job.id)]
    for call in [one.asked_by(principal) for one in calls]:
        if refusal is None:
            assert isinstance(store.send(call), Inspection)
        else:
            with pytest.raises(NotAllowed, match=refusal):
                store.send(call)
    rows = store.audit_log("job", str(job.id))
    told = [(row.actor, row.via, row.verb) for row in rows if row.actor == who]
    verbs = ["inspect"] if refusal is None else ["refuse", "refuse"]
    assert told == [(who, "rest", verb) for verb in verbs]


def test_the_newest_lines_come_in_their_order(store: Store, worker: Worker, job: Claimed) -> None:
    lines = [LogLine(f"line {number}") for number in range(10)]
    store.report(worker.id, [Report(job=job.id, token=job.token, logs=lines, partials=[1, 2, 3])])

    def told(**how: int) -> list[str]:
        return [line["line"] for line in store.job_output(job.id, "logs", newest=True, **how)]

    assert told(n=3) == ["line 7", "line 8", "line 9"]
    assert told(n=100) == [line.line for line in lines]
    newest = store.job_output(job.id, "logs")[-2]["id"]
    assert told(n=5, above=newest) == ["line 9"]
    assert [line["line"] for line in store.job_output(job.id, "logs", n=2)] == ["line 0", "line 1"]
    assert [one["value"] for one in store.job_output(job.id, "partials", n=2, newest=True)] == [
        2,
        3,
    ]
    assert store.job_output(job.id, "events", n=2, newest=True) == ()


def test_a_member_says_which_processes_ended_with_it(
    store: Store, worker: Worker, job: Claimed
) -> None:
    record = store.stop(job.id, force=True)
    worker.finish(job, "stopped", heard=True, pids=(41, 42), processes=2)
    store.promote()
    [member] = store.cancellation(record.cancellation_id).members
    assert (member.pids, member.processes) == ((41, 42), 2)
