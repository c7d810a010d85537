"""Every mistake gets a sentence of its own class, and nothing is left half done."""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from tenure.domain.job import NEVER, After, NewJob
from tenure.domain.lifecycle import Intent
from tenure.errors import IllegalTransition, InputRefused, JobNotFound, NotFound, TenureError
from tenure.store.outcomes import Ending, Report
from tenure.store.store import Store
from tests.conftest import _database
from tests.factories import make_job, make_jobs, make_worker, promote

NAIVE = datetime(2030, 1, 1)  # noqa: DTZ001
LATER = datetime(2030, 1, 1, tzinfo=UTC)
LARGE = "x" * (1 << 20)
LONE = "\ud800"
NOBODY = 999_999  # an id no job has
FINE = NewJob(key="fine", task="work", args={"fine": True})


def everything(sql: psycopg.Connection) -> dict[str, int]:
    tables = sql.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'tenure'").fetchall()
    counts = {}
    for (table,) in tables:
        row = sql.execute(f'SELECT count(*) FROM tenure."{table}"'.encode()).fetchone()
        counts[str(table)] = int(row[0]) if row else 0
    return counts


def is_a_sentence(message: str) -> bool:
    """Something for people: no type names of the database, no names of its tables."""
    words = ("smallint", "int2", "jsonb", "violates", "relation", "invalid input syntax", "\n")
    return len(message.split()) > 3 and not any(word in message for word in words)


# What is wrong with one job, and a word its sentence must have.
MISTAKES: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "itself": ({"key": "me", "after": ["me"]}, "itself"),
    "its own parent": ({"key": "me", "parent": "me"}, "itself"),
    "unknown key": ({"after": ["nobody"]}, "nobody"),
    "unknown parent key": ({"parent": "nobody"}, "nobody"),
    "negative id": ({"after": [-1]}, "-1"),
    "large": ({"args": {"x": LARGE}}, "arguments"),
    "NaN": ({"args": {"x": [{"y": float("nan")}]}}, "nan"),
    "infinite": ({"args": {"x": float("-inf")}}, "inf"),
    "object": ({"args": {"x": object()}}, "JSON"),
    "not an object": ({"args": [1]}, "JSON object"),
    "NUL": ({"args": {"x": "a\0b"}}, "NUL"),
    "NUL in a name": ({"task": "a\0b"}, "NUL"),
    "NUL in a tag": ({"tags": ["a\0b"]}, "NUL"),
    "lone surrogate": ({"args": {"x": LONE}}, "surrogate"),
    "lone surrogate in a name": ({"queue": LONE}, "surrogate"),
    "NaN in options": ({"options": {"x": float("nan")}}, "nan"),
    "empty task": ({"task": ""}, "task"),
    "empty queue": ({"queue": ""}, "queue"),
    "empty key": ({"key": ""}, "key"),
    "empty unique": ({"unique": ""}, "unique"),
    "empty idempotency": ({"idempotency": ""}, "idempotency"),
    "empty target": ({"target": ""}, "target"),
    "empty owner": ({"owner": ""}, "owner"),
    "negative delay": ({"delay": timedelta(seconds=-1)}, "delay"),
    "endless delay": ({"delay": timedelta(days=365 * 101)}, "delay"),
    "delay and time": ({"delay": timedelta(seconds=1), "run_at": LATER}, "delay"),
    "naive time": ({"run_at": NAIVE}, "time zone"),
    "bad when_taken": ({"when_taken": "maybe"}, "when_taken"),
    "bad orphan": ({"orphan": "adopt"}, "orphan"),
    "bad block_on": ({"block_on": ["running"]}, "block_on"),
    "no attempts": ({"max_attempts": 0}, "max_attempts"),
    "too many attempts": ({"max_attempts": 40_000}, "max_attempts"),
    "priority too high": ({"priority": 32_768}, "priority"),
    "priority too low": ({"priority": -32_769}, "priority"),
    "priority a word": ({"priority": "high"}, "priority"),
    "negative budget": ({"budget": {"tokens": -1}}, "budget"),
    "budget NaN": ({"budget": {"tokens": float("nan")}}, "budget|nan"),
    "unknown pool": ({"pools": ["trees"]}, "trees"),
    "group with target": ({"task": None, "target": "site"}, "no code"),
    "group with after": ({"task": None, "after": ["fine"]}, "no code"),
    "group with pool": ({"task": None, "pools": ["known"]}, "no code"),
    "group with time": ({"task": None, "run_at": LATER}, "no code"),
    "group never queued": ({"task": None, "run_at": NEVER}, "no code"),
    **{
        f"long {name}": ({name: "x" * 501}, "500")
        for name in ("task", "queue", "key", "owner", "unique", "idempotency", "target")
    },
}


@pytest.fixture(scope="module")
def database(server: str, template: str) -> Iterator[str]:
    """One for all mistakes: each must leave it as it was."""
    for url in _database(server, template):
        with Store(url) as store:
            store.create_pool("known", ["a"])
        yield url


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_refused_with_a_sentence_and_leaves_nothing(
    store: Store, sql: psycopg.Connection, mistake: str
) -> None:
    fields, word = MISTAKES[mistake]
    bad = NewJob(**{"task": "work", **fields})
    before = everything(sql)
    with pytest.raises(InputRefused, match=f"(?i){word}") as refused:
        store.enqueue([FINE, bad])
    assert is_a_sentence(str(refused.value))
    assert everything(sql) == before


@pytest.mark.parametrize("policy", ["maybe", ""])
def test_an_edge_has_a_policy_it_knows(store: Store, sql: psycopg.Connection, policy: Any) -> None:
    before = everything(sql)
    with pytest.raises(InputRefused, match="policy"):
        store.enqueue([FINE, NewJob(task="work", after=[After("fine", policy)])])
    assert everything(sql) == before


def test_names_of_five_hundred_characters_and_nearly_too_large_arguments_are_fine(
    store: Store,
) -> None:
    name = "ü" * 500
    fields = dict.fromkeys(
        ("task", "queue", "key", "owner", "unique", "idempotency", "target"), name
    )
    args = {"x": "y" * ((1 << 20) - 100)}
    job = store.show(make_job(store, priority=-32_768, args=args, **fields))
    assert (job.task, job.target, job.key, job.args) == (name, name, name, args)


def test_a_text_that_only_spells_out_the_escape_of_nul_is_fine(store: Store) -> None:
    args = {"pattern": r"\u0000"}
    assert store.show(make_job(store, args=args)).args == args


@pytest.mark.parametrize("way", ["two", "three", "through the parent"])
def test_a_cycle_is_refused(store: Store, sql: psycopg.Connection, way: str) -> None:
    jobs = {
        "two": [
            NewJob(key="a", task="work", after=["b"]),
            NewJob(key="b", task="work", after=["a"]),
        ],
        "three": [
            NewJob(key="a", task="work", after=["c"]),
            NewJob(key="b", task="work", after=["a"]),
            NewJob(key="c", task="work", after=["b"]),
        ],
        "through the parent": [
            NewJob(key="job"),
            NewJob(key="b", task="work", after=["job"]),
            NewJob(key="a", task="work", parent="job", after=["b"]),
        ],
    }[way]
    before = everything(sql)
    with pytest.raises(InputRefused, match="cycle"):
        store.enqueue(jobs)
    assert everything(sql) == before


def test_a_cycle_over_two_calls_is_refused(store: Store, sql: psycopg.Connection) -> None:
    """A task of one job after the other job, and the other way round."""
    ids = make_jobs(store, [NewJob(key="one"), NewJob(key="two")])
    make_job(store, parent=ids["one"], after=[ids["two"]])
    before = everything(sql)
    with pytest.raises(InputRefused, match="cycle"):
        make_job(store, parent=ids["two"], after=[ids["one"]])
    assert everything(sql) == before


def test_a_job_cannot_come_after_what_it_is_a_part_of(
    store: Store, sql: psycopg.Connection
) -> None:
    top = make_job(store, None)
    middle = make_job(store, None, parent=top)
    before = everything(sql)
    for ancestor in (top, middle):
        with pytest.raises(InputRefused, match=f"after job {ancestor}, which it is a part of"):
            store.enqueue([FINE, NewJob(task="work", parent=middle, after=[ancestor])])
    assert everything(sql) == before


@pytest.mark.parametrize("fields", [{"after": [NOBODY]}, {"parent": NOBODY}], ids=str)
def test_an_unknown_job_is_not_found(
    store: Store, sql: psycopg.Connection, fields: dict[str, Any]
) -> None:
    before = everything(sql)
    with pytest.raises(JobNotFound, match=f"there is no job {NOBODY}"):
        store.enqueue([FINE, NewJob(task="work", **fields)])
    assert everything(sql) == before


@pytest.mark.parametrize("end", ["completed", "failed", "cancelled", "paused", "cancelling"])
def test_nothing_is_added_below_a_job_that_is_over_or_stopped(
    store: Store, sql: psycopg.Connection, end: Any
) -> None:
    parent = make_job(store, queue=end)
    worker = make_worker(store)
    if end == "cancelling":
        worker.claim_one(queues=[end])
    if end in ("completed", "failed"):
        worker.finish(worker.claim_one(queues=[end]), end)
    else:
        store.stop(parent, intent=Intent.PAUSE if end == "paused" else Intent.CANCEL)
    promote(store)
    before = everything(sql)
    with pytest.raises(IllegalTransition, match=f"below job {parent}, which is"):
        store.enqueue([FINE, NewJob(task="work", parent=parent)])
    assert everything(sql) == before


@pytest.mark.parametrize("arguments", [[{}, 1], [{}, {"x": float("nan")}], [{}, {"x": LARGE}]])
def test_many_of_a_kind_are_looked_at_one_by_one(
    store: Store, sql: psycopg.Connection, arguments: list[Any]
) -> None:
    before = everything(sql)
    with pytest.raises(InputRefused):
        store.enqueue_many(NewJob(task="work"), arguments)
    assert everything(sql) == before


CALLS: Mapping[str, tuple[Callable[[Store], Any], type[TenureError]]] = {
    "show": (lambda store: store.show(NOBODY), JobNotFound),
    "stop": (lambda store: store.stop(NOBODY), JobNotFound),
    "resume": (lambda store: store.resume(NOBODY), JobNotFound),
    "clear": (lambda store: store.clear(NOBODY), JobNotFound),
    "rerun": (lambda store: store.rerun(NOBODY), JobNotFound),
    "queue": (lambda store: store.queue(NOBODY), JobNotFound),
    "explain": (lambda store: store.explain(NOBODY), JobNotFound),
    "queue naive": (
        lambda store: store.queue(make_job(store, run_at=NEVER), run_at=NAIVE),
        InputRefused,
    ),
    "clear nothing": (lambda store: store.clear(), InputRefused),
    "stop empty reason": (lambda store: store.stop(make_job(store), reason=""), InputRefused),
    "stop NUL": (lambda store: store.stop(make_job(store), reason="a\0b"), InputRefused),
    "stop surrogate": (lambda store: store.stop(make_job(store), reason=LONE), InputRefused),
    "stop grace": (
        lambda store: store.stop(make_job(store), grace=timedelta(seconds=-1)),
        InputRefused,
    ),
    "pause nothing": (lambda store: store.pause_dispatch("queue", ""), InputRefused),
    "pool again": (
        lambda store: (store.create_pool("p"), store.create_pool("p")),
        InputRefused,
    ),
    "unknown pool": (lambda store: store.change_slots("nowhere", add=["a"]), NotFound),
    "unknown slot": (lambda store: store.release_slot("known", "b"), NotFound),
    "value NaN": (
        lambda store: store.finish(
            make_worker(store).id,
            [Ending(job=1, token=1, outcome="completed", value=float("nan"))],
        ),
        InputRefused,
    ),
    "partial NUL": (
        lambda store: store.report(
            make_worker(store).id, [Report(job=1, token=1, partials=["a\0b"])]
        ),
        InputRefused,
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_other_verbs_refuse_with_a_sentence_too(store: Store, name: str) -> None:
    call, kind = CALLS[name]
    with pytest.raises(kind) as refused:
        call(store)
    assert is_a_sentence(str(refused.value))
