"""Enqueueing jobs of tasks: with options, one or many, in the caller's own transaction."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from sqlalchemy import create_engine
from sqlalchemy.orm import Session
from sqlalchemy.pool import NullPool

from tenure.app import Tenure
from tenure.config import Settings
from tenure.control.job_operations import job_with_key
from tenure.control.task import Task
from tenure.domain.job import After
from tenure.domain.retry import Retry
from tenure.domain.tenant import DEFAULT
from tenure.errors import InputRefused, JobNotFound, KeyTaken
from tests.factories import promote

LATER = datetime(2100, 1, 1, tzinfo=UTC)


@pytest.fixture
def app(database: str) -> Iterator[Tenure]:
    with Tenure(database, settings=Settings(retry=Retry(max=5), on_orphan="fail")) as app:
        yield app


@pytest.fixture
def crawl(app: Tenure) -> Task[..., int]:
    @app.task(name="crawl", queue="crawl", retry=2, timeout="2h", tags=["web"])
    def crawl(site: str, pages: int = 10) -> int:
        return pages

    return crawl


def test_a_job_has_the_options_of_its_task(crawl: Task[..., int]) -> None:
    handle = crawl.enqueue("example.org", pages=3)
    job = handle.job()
    assert (job.task, job.queue, job.status, job.max_attempts) == ("crawl", "crawl", "queued", 3)
    assert job.args == {"site": "example.org", "pages": 3}
    assert job.options == {"timeout": "2h", "retry": Retry(max=2).as_options()}
    assert job.tags == ("web",)
    assert (handle.tenant, handle.created) == ("default", True)


def test_what_a_task_does_not_say_the_settings_say(app: Tenure) -> None:
    @app.task
    def work() -> None: ...

    job = work.new_job()
    assert (job.max_attempts, job.orphan, job.options) == (6, "fail", None)
    assert work.enqueue().job().max_attempts == 6


def test_using_says_it_for_these_jobs_alone(crawl: Task[..., int]) -> None:
    bound = crawl.using(
        queue="fast", priority=7, delay="1h", owner="ann", key="k", tags=[], retry=0, deadline="1d",
        timeout=None, grace="20s", ask_for="5s", last_rung="interrupted", budget={"tokens": 5},
        target="site:a", pools=["trees"], memory="1GB", cancel_pauses=True,
    )  # fmt: skip
    crawl.client.store.create_pool("trees", ["oak"])
    before = datetime.now(UTC)
    job = bound.enqueue("a").job()
    assert (job.queue, job.priority, job.owner, job.key) == ("fast", 7, "ann", "k")
    assert (job.status, job.target, job.tags, job.max_attempts) == ("scheduled", "site:a", None, 1)
    assert job.budget == {"tokens": 5}
    deadline = datetime.fromisoformat(job.options.pop("deadline"))
    assert timedelta(days=1) <= deadline - before < timedelta(days=1, minutes=1)
    assert job.options == {
        "retry": Retry(max=0).as_options(),
        "grace": "20s",
        "ask_for": "5s",
        "last_rung": "interrupted",
        "memory": 1_000_000_000,
        "cancel_pauses": True,
    }
    assert crawl.enqueue("a").job().queue == "crawl"
    assert bound.using(priority=8).new_job("a").queue == "fast"


def test_a_time_can_be_given(crawl: Task[..., int]) -> None:
    assert crawl.using(run_at=LATER).enqueue("a").job().run_at == LATER


def test_a_job_is_named_by_handle_id_or_key(crawl: Task[..., int]) -> None:
    parent = crawl.using(key="parent").enqueue("a")
    for name in (parent, parent.id, "parent"):
        child = crawl.using(parent=name, after=[]).enqueue("b")
        assert child.job().parent_id == parent.id
    for needs in ([parent], parent.id, "parent", [After("parent", "run")], (After(parent.id),)):
        [need] = crawl.using(after=needs).enqueue("c").job().needs
        assert need["job_id"] == parent.id
    assert need["policy"] == "wait"
    assert (
        crawl.using(after=[After("parent", "run")]).enqueue("c").job().needs[0]["policy"] == "run"
    )


def test_a_key_that_is_no_jobs_or_two_jobs_is_refused(crawl: Task[..., int]) -> None:
    with pytest.raises(JobNotFound, match="there is no job with the key 'nobody'"):
        crawl.using(parent="nobody").enqueue("a")
    crawl.using(key="two").enqueue_many([("a",), ("b",)])
    with pytest.raises(InputRefused, match="more than one job that is not over has the key 'two'"):
        crawl.using(after="two").enqueue("a")


def test_a_key_is_that_of_the_job_that_is_not_over_else_of_the_newest(
    crawl: Task[..., int],
) -> None:
    old = crawl.using(key="nightly").enqueue("a")
    old.cancel()
    new = crawl.using(key="nightly").enqueue("b")
    assert crawl.client.perform(job_with_key("nightly"), DEFAULT) == new.id
    new.cancel()
    assert crawl.client.perform(job_with_key("nightly"), DEFAULT) == new.id
    again = crawl.using(key="nightly").enqueue("c")
    assert crawl.client.perform(job_with_key("nightly"), DEFAULT) == again.id


def test_a_taken_key_gives_the_job_that_has_it(app: Tenure) -> None:
    @app.task(unique="report:{day}")
    def report(day: str) -> None: ...

    first, second = report.enqueue("monday"), report.enqueue("monday")
    assert first == second
    assert (first.created, second.created) == (True, False)
    assert report.enqueue("tuesday") != first
    with pytest.raises(KeyTaken, match="has the unique key 'report:monday'"):
        report.using(when_taken="refuse").enqueue("monday")
    assert report.using(when_taken="replace").enqueue("monday") != first
    once = report.using(idempotency="once")
    assert once.enqueue("a") == once.enqueue("b")


def test_many_jobs_at_once(crawl: Task[..., int]) -> None:
    handles = crawl.using(queue="many").enqueue_many([{"site": "a"}, ("b", 2), ["c"]])
    assert [handle.job().args for handle in handles] == [
        {"site": "a"},
        {"site": "b", "pages": 2},
        {"site": "c"},
    ]
    assert {handle.job().queue for handle in handles} == {"many"}
    assert crawl.enqueue_many([]) == []


def test_of_many_too_no_number_is_stored_that_json_does_not_have(app: Tenure) -> None:
    @app.task(name="measure")
    def measure(value: float, note: str = "") -> None: ...

    for bad in (float("nan"), float("-inf")):
        with pytest.raises(InputRefused, match=r"arguments number 2: .* is not a JSON number"):
            measure.enqueue_many([(1.0,), (bad,)])
    assert app.store.statistics().by_status == {}
    handles = measure.enqueue_many([(1.0, "NaN"), (2.0, "Infinity")])
    assert [handle.job().args for handle in handles] == [
        {"value": 1.0, "note": "NaN"},
        {"value": 2.0, "note": "Infinity"},
    ]


def test_of_many_too_a_text_with_nul_is_refused(crawl: Task[..., int]) -> None:
    with pytest.raises(InputRefused, match="NUL"):
        crawl.enqueue_many([("a",), ("b\0",)])


def test_each_of_many_jobs_has_its_own_target_and_key(app: Tenure) -> None:
    @app.task(target="site:{site}", unique="{site}")
    def visit(site: str) -> None: ...

    a, b, again = visit.enqueue_many([("a",), ("b",), ("a",)])
    assert (a.job().target, b.job().target) == ("site:a", "site:b")
    assert again == a


def test_a_mistake_in_one_of_many_is_named_by_its_place(crawl: Task[..., int]) -> None:
    with pytest.raises(InputRefused, match=r"^arguments number 2: task 'crawl' cannot take"):
        crawl.enqueue_many([("a",), (5,)])
    for wrong in ("a", 5, None):
        with pytest.raises(InputRefused, match="number 1: they are neither a dict nor a tuple"):
            crawl.enqueue_many([wrong])  # type: ignore[list-item]
    for key in ({"unique": "x"}, {"idempotency": "x"}):
        with pytest.raises(InputRefused, match="key is for one job, and these are 2"):
            crawl.using(**key).enqueue_many([("a",), ("b",)])  # type: ignore[arg-type]
    assert crawl.client.store.statistics().total == 0


def test_every_tenant_has_its_own_jobs(app: Tenure, crawl: Task[..., int]) -> None:
    app.migrate("acme")
    here, there = crawl.enqueue("a"), crawl.using(tenant="acme").enqueue("a")
    assert there.tenant == "acme"
    assert app.store_of("acme").statistics().total == 1
    with pytest.raises(InputRefused, match="belongs to tenant 'default' and this one to 'acme'"):
        crawl.using(tenant="acme", parent=here)
    with pytest.raises(InputRefused, match="belongs to tenant 'acme' and this one to 'default'"):
        crawl.using(after=[After(there)])  # type: ignore[arg-type]


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"run_at": datetime(2100, 1, 1)}, "run_at: 2100-01-01 00:00:00 has no time zone"),  # noqa: DTZ001
    ({"run_at": "tomorrow"}, "run_at: it takes a datetime, not 'tomorrow'"),
    ({"delay": "soon"}, "delay: 'soon' is not a duration"),
    ({"delay": -1}, "delay: a duration cannot be negative"),
    ({"target": ""}, "target: it takes a text that is not empty"),
    ({"parent": 1.5}, "parent: it takes a handle, an id or a key of a job, not 1.5"),
    ({"parent": True}, "parent: it takes a handle, an id or a key of a job, not True"),
    ({"parent": ""}, "parent: it takes a handle, an id or a key"),
    ({"after": {}}, "after: it takes jobs in a list, not {}"),
    ({"after": [None]}, "after: it takes a handle, an id or a key of a job, not None"),
    ({"owner": ""}, "owner: it takes a text that is not empty"),
    ({"unique": 5}, "unique: it takes a text that is not empty, not 5"),
    ({"when_taken": "steal"}, "when_taken: it takes 'return', 'replace' or 'refuse'"),
    ({"idempotency": ""}, "idempotency: it takes a text that is not empty"),
    ({"key": ""}, "key: it takes a text that is not empty"),
    ({"tenant": "No Tenant"}, "'No Tenant' cannot be the name of a tenant"),
    ({"tenant": None}, "tenant: it takes the name of a tenant, not None"),
    ({"priority": "high"}, "priority: it takes a whole number"),
    ({"executor": "thread"}, "executor: there is no such option"),
    ({"quue": "x"}, "quue: there is no such option; the nearest is queue"),
]


@pytest.mark.parametrize(("said", "sentence"), WRONG)
def test_what_cannot_be_said_of_a_job_is_refused(said: dict[str, Any], sentence: str) -> None:
    app = Tenure("postgresql:///nowhere", settings=Settings())

    @app.task(name="work")
    def work() -> None: ...

    with pytest.raises(InputRefused) as refused:
        work.using(**said)
    assert str(refused.value).startswith(f"task 'work': {sentence}")


# In the caller's own transaction.


def test_a_job_is_there_when_the_callers_transaction_commits(
    app: Tenure, crawl: Task[..., int], database: str
) -> None:
    with psycopg.connect(database) as connection:
        parent = crawl.using(connection=connection, key="mine").enqueue("a")
        crawl.using(connection=connection, parent="mine").enqueue_many([("b",), ("c",)])
        assert app.store.statistics().total == 0
        connection.commit()
    assert parent.job().args == {"site": "a"}
    promote(app.store)
    assert len(parent.children()) == 2
    with psycopg.connect(database) as connection:
        crawl.using(connection=connection).enqueue("gone")
        connection.rollback()
    assert app.store.statistics().total == 3


def test_a_session_of_sqlalchemy_will_do(crawl: Task[..., int], database: str) -> None:
    engine = create_engine(
        database.replace("postgresql:", "postgresql+psycopg:"), poolclass=NullPool
    )
    with Session(engine) as session, session.begin():
        handle = crawl.using(connection=session).enqueue("a")
    assert handle.status() == "queued"


def test_an_async_connection_goes_with_the_async_twin(
    app: Tenure, crawl: Task[..., int], database: str
) -> None:
    async def run() -> None:
        async with await psycopg.AsyncConnection.connect(database) as connection:
            bound = crawl.using(connection=connection)
            handle = await bound.aenqueue("a")
            await bound.aenqueue_many([("b",), ("c",)])
            with pytest.raises(InputRefused, match="AsyncConnection is not for"):
                bound.enqueue("a")
            await connection.commit()
        assert (await handle.ajob()).args == {"site": "a"}
        await app.aclose()

    asyncio.run(run())


def test_a_connection_that_is_none_is_refused(crawl: Task[..., int]) -> None:
    with pytest.raises(InputRefused, match=r"builtins\.int is not a connection of psycopg"):
        crawl.using(connection=5).enqueue("a")


def test_async_code_enqueues_too(app: Tenure, crawl: Task[..., int]) -> None:
    async def run() -> list[str]:
        async with app:
            handles = await asyncio.gather(*(crawl.aenqueue(str(n)) for n in range(20)))
            many = await crawl.using(priority=1).aenqueue_many([("x",), {"site": "y"}])
            return [(await handle.ajob()).args["site"] for handle in [*handles, *many]]

    assert asyncio.run(run()) == [*map(str, range(20)), "x", "y"]
    assert asyncio.run(run()) == [*map(str, range(20)), "x", "y"]


def test_a_child_of_a_running_job_is_drafted_as_json(crawl: Task[..., int]) -> None:
    draft = crawl.using(run_at=LATER).child_draft(7, ("a",), {})
    assert draft["parent"] == 7
    assert "idempotency" not in draft, "its key is made where nobody else can name it"
    assert draft["run_at"] == "2100-01-01T00:00:00Z"
    with pytest.raises(InputRefused, match="takes neither a connection nor a parent"):
        crawl.using(parent=5).child_draft(7, ("a",), {})
