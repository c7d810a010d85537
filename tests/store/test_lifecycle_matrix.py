"""Every verb in every state, through the SQL functions, against the table of the domain."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from itertools import product
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import TRANSITIONS, Intent, State, Verb
from tenure.errors import IllegalTransition
from tenure.store.results import Claimed
from tenure.store.store import Store
from tests.conftest import _database
from tests.factories import Worker, make_job, make_jobs, make_worker, promote

# What a refused verb must leave as it was.
TABLES = ("job", "outcome", "partial", "attempt", "cancellation", "member", "audit", "wake")

OUTCOMES: Mapping[Verb, Mapping[str, Any]] = {
    Verb.COMPLETE: {"outcome": "completed", "value": {"answer": 42}},
    Verb.FAIL: {"outcome": "failed", "error": {"type": "ValueError", "message": "no"}},
    Verb.RETRY: {"outcome": "retry", "error": {"type": "ValueError", "message": "again"}},
    Verb.RELEASE: {"outcome": "released"},
}


@pytest.fixture(scope="module")
def database(server: str, template: str) -> Iterator[str]:
    """One for all pairs: each has a queue of its own."""
    yield from _database(server, template)


@dataclass(frozen=True)
class Case:
    """A job in a state, with the worker that ran it and the fence it ran under."""

    store: Store
    worker: Worker
    claimed: Claimed

    @property
    def id(self) -> int:
        return self.claimed.id


def bring_to(store: Store, state: State) -> Case:
    """A job that was claimed once, so that an old fence can be tried on it afterwards."""
    queue = uuid4().hex
    job = make_job(store, queue=queue)
    worker = make_worker(store, timedelta(hours=1))
    claimed = worker.claim_one(queues=[queue])
    assert claimed.id == job
    case = Case(store, worker, claimed)
    match state:
        case State.PENDING:
            worker.release(claimed)
        case State.RUNNING:
            pass
        case State.PAUSED | State.CANCELLED:
            store.stop(job, intent=Intent.PAUSE if state is State.PAUSED else Intent.CANCEL)
            worker.finish(claimed, "stopped", heard=True)
        case State.COMPLETED:
            worker.finish(claimed)
        case State.FAILED:
            worker.finish(claimed, "failed", error={"type": "ValueError", "message": "no"})
    promote(store)
    assert store.show(job).state is state
    return case


def allowed(verb: str, call: Callable[[], object]) -> bool:
    message = ""
    try:
        call()
    except IllegalTransition as error:
        message = str(error)
    assert message == "" or message.startswith(f"cannot {verb} a job that is ")
    return message == ""


def finish(verb: Verb) -> Callable[[Case], bool]:
    def say(case: Case) -> bool:
        finished = case.worker.finish(case.claimed, **OUTCOMES[verb])
        assert not finished.busy
        assert (case.id in finished.accepted) != (case.id in finished.refused)
        return case.id in finished.accepted

    return say


def stop(intent: Intent) -> Callable[[Case], bool]:
    """Ask, and let the worker do as it was told if it still runs the job."""

    def say(case: Case) -> bool:
        running = case.store.show(case.id).state is State.RUNNING
        if not allowed(intent, lambda: case.store.stop(case.id, intent=intent)):
            return False
        if running:
            assert case.store.show(case.id).state is State.RUNNING
            case.worker.finish(case.claimed, "stopped", heard=True)
        return True

    return say


def claim(case: Case) -> bool:
    return case.id in {job.id for job in case.worker.claim(10, queues=[case.claimed.queue])}


def resume(case: Case) -> bool:
    return allowed("resume", lambda: case.store.resume(case.id))


def clear(case: Case) -> bool:
    return allowed("clear", lambda: case.store.clear(case.id))


VERBS: Mapping[Verb, Callable[[Case], bool]] = {
    Verb.CLAIM: claim,
    Verb.COMPLETE: finish(Verb.COMPLETE),
    Verb.FAIL: finish(Verb.FAIL),
    Verb.RETRY: finish(Verb.RETRY),
    Verb.RELEASE: finish(Verb.RELEASE),
    Verb.CANCEL: stop(Intent.CANCEL),
    Verb.PAUSE: stop(Intent.PAUSE),
    Verb.RESUME: resume,
    Verb.CLEAR: clear,
}

# These two are not a worker's word: the rule for jobs without code of their own, tested below.
BY_RULE = {(State.PENDING, Verb.COMPLETE), (State.PENDING, Verb.FAIL)}
ASKED_AGAIN = (State.CANCELLED, Verb.CANCEL)  # answered with its record


def everything(sql: psycopg.Connection) -> dict[str, list[Any]]:
    return {
        table: sql.execute(
            f"SELECT t::text FROM tenure.{table} AS t ORDER BY 1".encode()
        ).fetchall()
        for table in TABLES
    }


@pytest.mark.parametrize(
    ("state", "verb"), [pair for pair in product(State, Verb) if pair not in BY_RULE], ids=str
)
def test_a_verb_leads_where_the_table_says_or_changes_nothing(
    store: Store, sql: psycopg.Connection, state: State, verb: Verb
) -> None:
    case = bring_to(store, state)
    before = everything(sql)

    accepted = VERBS[verb](case)

    if (state, verb) == ASKED_AGAIN:
        assert accepted
        assert everything(sql) == before
    elif (state, verb) in TRANSITIONS:
        assert accepted
        assert store.show(case.id).state is TRANSITIONS[state, verb]
    else:
        assert not accepted
        assert everything(sql) == before


@pytest.mark.parametrize("verb", [Verb.COMPLETE, Verb.FAIL], ids=str)
def test_a_worker_cannot_end_a_pending_job_with_an_old_fence(
    store: Store, sql: psycopg.Connection, verb: Verb
) -> None:
    case = bring_to(store, State.PENDING)
    before = everything(sql)

    assert not VERBS[verb](case)
    assert everything(sql) == before


@pytest.mark.parametrize(
    ("outcome", "verb"), [("completed", Verb.COMPLETE), ("failed", Verb.FAIL)], ids=str
)
def test_a_pending_job_without_code_ends_by_rule(store: Store, outcome: Any, verb: Verb) -> None:
    task = NewJob(key="task", task="work", parent="job", queue=outcome)
    ids = make_jobs(store, [NewJob(key="job"), task])
    worker = make_worker(store)
    assert store.show(ids["job"]).state is State.PENDING

    worker.finish(worker.claim_one(queues=[outcome]), outcome)
    promote(store)

    assert store.show(ids["job"]).state is TRANSITIONS[State.PENDING, verb]


def test_every_verb_of_the_table_is_tried() -> None:
    assert set(VERBS) == set(Verb)


@pytest.mark.parametrize("state", [s for s in State if s is not State.RUNNING], ids=str)
@pytest.mark.parametrize("verb", ["crash", "release"])
def test_a_job_that_does_not_run_can_neither_crash_nor_be_given_back(
    store: Store, sql: psycopg.Connection, state: State, verb: str
) -> None:
    case = bring_to(store, state)
    before = everything(sql)

    finished = getattr(case.worker, verb)(case.claimed)

    assert finished.refused == (case.id,)
    assert everything(sql) == before


@pytest.mark.parametrize("state", [State.COMPLETED, State.FAILED], ids=str)
def test_a_stop_of_a_job_that_is_over_makes_no_record(
    store: Store, sql: psycopg.Connection, state: State
) -> None:
    case = bring_to(store, state)
    (before,) = sql.execute("SELECT count(*) FROM tenure.cancellation").fetchone() or (None,)

    with pytest.raises(IllegalTransition, match=f"cannot cancel a job that is {state}"):
        store.stop(case.id)

    assert sql.execute("SELECT count(*) FROM tenure.cancellation").fetchone() == (before,)
