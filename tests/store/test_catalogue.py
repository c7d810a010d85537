"""The catalogue of tasks: who writes it, what it fills in, and jobs that wait for their task."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from tenure.domain.job import Job, NewJob
from tenure.domain.lifecycle import Intent, Reason, State, Status
from tenure.domain.tenant import Tenant
from tenure.errors import InputRefused, NotAllowed, TenureError
from tenure.store import schema
from tenure.store.store import Store
from tests.factories import announcement, end_as_stopped, make_worker, promote
from tests.store.roles import Kind, Roles

TARGET = {
    "text": "site:{site}",
    "parts": [{"text": "site:", "field": "site", "refusal": "'site' is needed"}, {"text": "!"}],
}
CRAWL: dict[str, Any] = announcement(
    "crawl",
    defaults={
        "queue": "crawl",
        "priority": 3,
        "max_attempts": 1,
        "orphan": "fail",
        "tags": ["web"],
        "budget": {"tokens": 10},
        "options": {"timeout": "5s", "grace": "1s", "secret": ["token"], "deadline": 60},
    },
    schema={"properties": {"site": {"default": "here"}}},
)


@pytest.fixture
def roles(store: Store, sql: psycopg.Connection, database: str) -> Iterator[Roles]:
    made = Roles(store, sql, database)
    yield made
    made.drop()


def enqueue(sql: psycopg.Connection, store: Store, draft: str) -> Job:
    row = sql.execute("SELECT tenure.enqueue(%s::jsonb)", (draft,)).fetchone()
    assert row is not None
    return store.show(row[0][0]["id"])


def test_sql_uses_the_declared_options_and_arguments_override_them(
    sql: psycopg.Connection, store: Store
) -> None:
    store.announce_tasks([{**CRAWL, "target": TARGET}])
    job = enqueue(sql, store, '{"task": "crawl"}')
    assert (job.queue, job.priority, job.max_attempts, job.tags) == ("crawl", 3, 1, ("web",))
    assert (job.target, job.budget, job.waiting) == ("site:here!", {"tokens": 10}, Reason.TARGET)
    assert job.options["timeout"] == "5s"
    assert job.options["deadline"].startswith("20")  # a moment

    said = '"queue": "mine", "target": null, "options": {"grace": "2s", "timeout": null}'
    job = enqueue(sql, store, f'{{"task": "crawl", "args": {{"site": "a"}}, {said}}}')
    assert (job.queue, job.target, job.priority) == ("mine", None, 3)
    assert job.options["grace"] == "2s"
    assert "timeout" not in job.options

    job = enqueue(
        sql, store, '{"task": "crawl", "options": {"secret": ["key"], "retry": {"max": 2}}}'
    )
    assert job.options["secret"] == ["key", "token"]
    assert job.max_attempts == 3


def test_a_task_may_declare_nothing(sql: psycopg.Connection, store: Store) -> None:
    nothing: dict[str, Any] = {"options": None, "budget": None, "tags": None, "pools": []}
    store.announce_tasks([announcement("plain", defaults=nothing)])
    job = enqueue(sql, store, '{"task": "plain"}')
    assert (job.status, job.options, job.budget) == (Status.QUEUED, None, None)


def test_a_caller_that_says_all_of_it_is_not_filled_in(store: Store) -> None:
    store.announce_tasks([CRAWL])
    [made] = store.enqueue(NewJob(task="crawl"))
    assert store.show(made.id).queue == "default"
    [id_, _] = store.enqueue_many(NewJob(task="crawl"), [{}, {}])
    assert store.show(id_).queue == "default"


def test_many_jobs_of_one_call_get_what_the_task_declares(
    sql: psycopg.Connection, store: Store
) -> None:
    store.announce_tasks([CRAWL, {**CRAWL, "name": "lined", "target": TARGET}])
    for task, target in (("crawl", None), ("lined", "site:a!")):
        [(ids,)] = sql.execute(
            'SELECT tenure.enqueue_many(\'[{"site": "a"}]\', %s::jsonb)', (f'{{"task": "{task}"}}',)
        ).fetchall()
        job = store.show(ids[0])
        assert (job.queue, job.max_attempts, job.target) == ("crawl", 1, target)


@pytest.mark.parametrize(
    ("value", "text"),
    [('"a"', "a"), ("1", "1"), ("1.0", "1.0"), ("1e22", "1" + "0" * 22), ("true", "true")],
)
def test_a_template_is_filled_as_in_python(
    value: str, text: str, sql: psycopg.Connection, store: Store
) -> None:
    store.announce_tasks([{**CRAWL, "target": TARGET}])
    job = enqueue(sql, store, f'{{"task": "crawl", "args": {{"site": {value}}}}}')
    assert job.target == f"site:{text}!"


@pytest.mark.parametrize(
    ("value", "kind"), [("null", "nothing"), ("[1]", "a list"), ("{}", "an object")]
)
def test_what_does_not_fit_a_template_is_refused(
    value: str, kind: str, sql: psycopg.Connection, store: Store
) -> None:
    store.announce_tasks([{**CRAWL, "target": TARGET}])
    with pytest.raises(psycopg.Error, match=f"^'site' is needed, and that is {kind}"):
        enqueue(sql, store, f'{{"task": "crawl", "args": {{"site": {value}}}}}')


def test_keys_of_one_call_that_come_from_a_template_stand_for_one_job(
    sql: psycopg.Connection, store: Store
) -> None:
    store.announce_tasks([{**CRAWL, "unique": TARGET}])
    [(made,)] = sql.execute(
        """SELECT tenure.enqueue('[{"task": "crawl"}, {"task": "crawl"}]')"""
    ).fetchall()
    assert [one["created"] for one in made] == [True, False]


# Jobs that wait for their task.


def test_a_job_waits_for_its_task_and_then_gets_what_it_declares(
    sql: psycopg.Connection, store: Store
) -> None:
    worker = make_worker(store)
    store.announce_tasks([announcement("crawled"), announcement("mail")])
    job = enqueue(sql, store, '{"task": "crawl", "priority": 7, "args": {"site": "a"}}')
    assert (job.status, job.waiting) == (Status.WAITING, Reason.TASK)
    [reason, *_] = store.explain(job.id).reasons
    assert (reason.reason, reason.about) == ("task", "crawl")
    assert "task 'crawl' is not announced yet; the nearest are 'crawled'" in reason.sentence
    assert store.list_jobs({"status": "waiting"})[0].id == job.id
    assert [task.task for task in store.diagnose().unrunnable] == ["crawl"]
    store.promote()
    assert worker.claim(5) == ()

    store.announce_tasks([{**CRAWL, "target": TARGET}])
    assert "its task was announced" in store.explain(job.id).reasons[0].sentence
    store.promote()
    store.promote()
    job = store.show(job.id)
    assert (job.queue, job.priority, job.max_attempts, job.target) == ("crawl", 7, 1, "site:a!")
    assert (job.tags, job.budget, job.options["timeout"]) == (("web",), {"tokens": 10}, "5s")
    assert worker.claim_one().id == job.id
    assert store.diagnose().unrunnable == ()
    assert sql.execute("SELECT count(*) FROM tenure.unannounced").fetchone() == (0,)


def test_dependencies_hold_a_job_after_its_task_was_announced(
    sql: psycopg.Connection, store: Store
) -> None:
    [first] = store.enqueue(NewJob(task="first"))
    job = enqueue(sql, store, f'{{"task": "crawl", "after": [{first.id}]}}')
    assert job.waiting is Reason.TASK
    store.announce_tasks([CRAWL])
    store.promote()
    assert store.show(job.id).waiting is Reason.DEPENDENCIES


def test_a_job_that_cannot_be_what_its_task_declares_fails_with_the_sentence(
    sql: psycopg.Connection, store: Store
) -> None:
    job = enqueue(sql, store, '{"task": "crawl", "args": {"site": null}}')
    other = enqueue(sql, store, '{"task": "crawl", "args": {"site": "a"}}')
    again = enqueue(sql, store, '{"task": "crawl", "args": {"site": "a"}}')
    store.announce_tasks([{**CRAWL, "unique": TARGET}])
    store.promote()
    assert store.show(job.id).error_message == "'site' is needed, and that is nothing"
    assert store.show(other.id).state is State.PENDING
    assert f"job {other.id} has the unique key 'site:a!'" in str(store.show(again.id).error_message)


def test_a_newer_job_replaces_one_that_waits_for_the_same_task(
    sql: psycopg.Connection, store: Store
) -> None:
    old, new = (enqueue(sql, store, '{"task": "crawl", "when_taken": "replace"}') for _ in range(2))
    store.announce_tasks([{**CRAWL, "unique": TARGET}])
    store.promote()
    assert store.show(old.id).state is State.CANCELLED
    assert store.show(new.id).state is State.PENDING


def test_a_paused_job_waits_for_its_task_again_when_it_is_resumed(
    sql: psycopg.Connection, store: Store
) -> None:
    job = enqueue(sql, store, '{"task": "crawl"}')
    store.stop(job.id, intent=Intent.PAUSE)
    store.announce_tasks([CRAWL])
    store.promote()
    assert store.show(job.id).state is State.PAUSED
    assert store.resume(job.id).waiting is Reason.TASK
    store.promote()
    assert (store.show(job.id).status, store.show(job.id).queue) == (Status.QUEUED, "crawl")


@pytest.mark.parametrize("intent", list(Intent))
def test_a_job_that_is_being_stopped_ends_as_the_stop_wants_whatever_its_task_declares(
    sql: psycopg.Connection, store: Store, intent: Intent
) -> None:
    worker = make_worker(store)
    job = enqueue(sql, store, '{"task": "crawl", "args": {"site": null}}')
    store.enqueue(NewJob(task="work", parent=job.id))
    store.promote()
    child = worker.claim_one()
    store.stop(job.id, intent=intent)
    store.announce_tasks([{**CRAWL, "target": TARGET}])
    store.promote()
    assert store.show(job.id).status in (Status.CANCELLING, Status.PAUSING)
    end_as_stopped(worker, child)
    promote(store)
    cancelled = intent is Intent.CANCEL
    assert store.show(job.id).state is (State.CANCELLED if cancelled else State.PAUSED)
    assert sql.execute("SELECT status FROM tenure.cancellation").fetchall() == [("completed",)]
    if not cancelled:
        store.resume(job.id)
        promote(store)
        assert store.show(job.id).error_message == "'site' is needed, and that is nothing"


def test_a_job_that_waited_for_its_task_takes_none_of_the_last_lanes(
    sql: psycopg.Connection, store: Store
) -> None:
    """Those are for admins, and whether one enqueued it is not known any more."""
    job = enqueue(sql, store, '{"task": "crawl"}')
    sql.execute(
        "INSERT INTO tenure.lane (queue, task, pools) "
        "SELECT 'q' || i, 't', '{}' FROM generate_series(1, 8999) AS i"
    )
    store.announce_tasks([CRAWL])  # in a queue that is new
    store.promote()
    failed = store.show(job.id)
    assert failed.state is State.FAILED
    assert "this tenant has 9000 combinations" in str(failed.error)


def test_a_job_that_was_not_queued_waits_for_its_task_when_it_is(
    sql: psycopg.Connection, store: Store
) -> None:
    job = enqueue(sql, store, '{"task": "crawl", "run_at": "9999-12-31T00:00:00Z"}')
    assert job.waiting is Reason.UNQUEUED
    assert store.queue(job.id).waiting is Reason.TASK


def test_a_rerun_gets_what_the_task_declares_by_now(sql: psycopg.Connection, store: Store) -> None:
    job = enqueue(sql, store, '{"task": "crawl", "priority": 9, "args": {"site": "a"}}')
    store.stop(job.id)
    assert store.show(job.id).state is State.CANCELLED
    store.announce_tasks([CRAWL])
    store.promote()
    again = store.rerun(job.id)
    assert (again.queue, again.priority, again.args) == ("crawl", 9, {"site": "a"})
    assert store.rerun(again.id).queue == "crawl"


def test_a_rerun_counts_its_deadline_from_its_own_enqueue(
    sql: psycopg.Connection, store: Store
) -> None:
    [made] = store.enqueue(NewJob(task="crawl", options={"deadline": 60}))
    sql.execute(
        "UPDATE tenure.job SET created_at = created_at - interval '1 hour' WHERE id = %s",
        (made.id,),
    )
    sql.execute(
        "UPDATE tenure.payload SET options = jsonb_build_object('deadline',"
        " (options ->> 'deadline')::timestamptz - interval '1 hour') WHERE job_id = %s",
        (made.id,),
    )
    again = store.rerun(made.id)
    left = datetime.fromisoformat(again.options["deadline"]) - again.created_at
    assert left == timedelta(minutes=1)


def test_very_many_jobs_of_one_task_are_promoted_in_batches(
    sql: psycopg.Connection, store: Store
) -> None:
    sql.execute("SELECT tenure.enqueue_many('[{}, {}, {}]', '{\"task\": \"crawl\"}')")
    store.announce_tasks([CRAWL])
    assert store.promote(2).more
    store.promote(2)
    assert len(store.list_jobs({"queue": "crawl"})) == 3


# Who writes it.


def test_the_newest_announcement_counts_and_both_digests_in_use_are_shown(store: Store) -> None:
    old, new = make_worker(store), make_worker(store)
    store.announce(old.id, [CRAWL])
    store.announce(new.id, [{**CRAWL, "digest": "d2", "executor": "process"}])
    [task] = store.tasks()
    assert (task.digest, task.executor, task.everywhere) == ("d2", "process", True)
    assert [(it.digest, it.workers) for it in task.serving] == [("d1", 1), ("d2", 1)]
    store.leave(old.id)
    assert [it.digest for it in store.tasks("crawl")[0].serving] == ["d2"]
    assert store.tasks("craw") == ()


def test_a_job_whose_task_no_living_worker_has_is_explained(store: Store) -> None:
    worker = make_worker(store)
    [made] = store.enqueue(NewJob(task="crawl"))
    assert store.diagnose().unrunnable == ()  # the tasks of this worker are unknown
    store.announce(worker.id, [announcement("mail")])
    assert "no live worker has the task 'crawl'" in str(store.explain(made.id).reasons)
    assert [task.task for task in store.diagnose().unrunnable] == ["crawl"]
    store.announce(worker.id, [announcement("crawl")])
    assert store.diagnose().unrunnable == ()
    assert "no live worker" not in str(store.explain(made.id).reasons)


def test_what_one_tenant_announces_changes_nothing_for_another(store: Store, database: str) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        schema.migrate(connection, Tenant("acme"))
    acme = store.of(Tenant("acme"))
    store.announce_tasks([CRAWL])
    assert acme.tasks() == ()
    acme.announce_tasks([{**CRAWL, "digest": "theirs"}])
    assert [task.digest for task in store.tasks()] == ["d1"]
    store.announce_tasks([{**CRAWL, "digest": "all"}], everywhere=True)
    assert [task.digest for task in acme.tasks()] == ["all"]
    with pytest.raises(NotAllowed, match="an admin of the default tenant may"):
        acme.announce_tasks([CRAWL], everywhere=True)


def test_a_worker_of_one_tenant_announces_for_that_one_alone(store: Store) -> None:
    worker = uuid4()
    store.register(worker, "host", 1, timedelta(seconds=15), None, ["default"])
    store.announce(worker, [CRAWL])
    assert [task.everywhere for task in store.tasks()] == [False]


def test_whoever_only_enqueues_changes_nothing_that_a_task_declares(
    store: Store, roles: Roles
) -> None:
    worker = make_worker(store)
    kinds: tuple[Kind, ...] = ("producer", "viewer", "operator")
    for kind in kinds:
        _, other = roles.make(kind)
        with pytest.raises(TenureError):
            other.announce(worker.id, [CRAWL])
        with pytest.raises(TenureError):
            other.announce_tasks([CRAWL])
    assert store.tasks() == ()


def test_somebody_elses_worker_cannot_be_spoken_for(store: Store, roles: Roles) -> None:
    worker = make_worker(store)
    _, other = roles.make("worker")
    with pytest.raises(TenureError, match="there is no worker"):
        other.announce(worker.id, [CRAWL])


@pytest.mark.parametrize(
    ("task", "why"),
    [
        ({"name": ""}, "a name of 1 to"),
        ({"name": "x", "digest": None}, "no digest, executor or defaults"),
        ({"defaults": {"priority": "high"}}, "has a priority of high"),
        ({"defaults": {"owner": "root"}}, "not options of a task"),
        ({"defaults": {"options": {"timeout": "soon"}}}, "timeout"),
        ({"target": {"text": "x"}}, "has a target or a unique key that is not"),
        ({"doc": "x" * 300_000}, "more than 262144 bytes"),
    ],
)
def test_what_is_no_task_is_refused(task: dict[str, Any], why: str, store: Store) -> None:
    with pytest.raises(InputRefused, match=why):
        store.announce_tasks([{**CRAWL, **task}])


def test_too_many_tasks_at_once_are_refused(store: Store) -> None:
    with pytest.raises(InputRefused, match="at most 10000 tasks"):
        store.announce_tasks([announcement("x")] * 10_001)


def test_tenures_own_tasks_are_not_in_it(store: Store) -> None:
    worker = make_worker(store)
    store.announce(worker.id, [CRAWL, announcement("tenure.rollback")])
    assert [task.name for task in store.tasks()] == ["crawl"]
