"""Every option of ``@app.task`` holds for a job, however that job was enqueued.

One worker runs a job for each option and each way in; what is looked at is what happened to it.
"""

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tenure.app import Tenure
from tenure.control.client import Client
from tenure.control.schedule import make_schedule
from tenure.control.tokens import make_token
from tenure.domain.job import Job, NewJob
from tenure.domain.lifecycle import ENDED, Reason, State
from tenure.domain.principal import Role
from tenure.store.store import Store
from tenure.web import create_app
from tests.apps import declared
from tests.cli.running import Cli
from tests.conftest import wipe
from tests.web.http_client import Http, asking
from tests.workers import RunningWorker, eventually, running_worker

OPTIONS = tuple(declared.TASKS)
# A worker has these from its own app: a job cannot carry them.
OF_THE_APP = {"compensate"}
STOPPED = (
    "ask_for",
    "last_rung",
    "preserve_artifacts",
    "cancel_pauses",
)  # their jobs are cancelled
LONGER = {"TENURE_STOP_GRACE": "10m", "TENURE_CLOSE_TIMEOUT": "10m"}  # than any test waits


@dataclass
class Scene:
    """Everybody who can enqueue a job, and the worker that runs it."""

    store: Store
    sql: psycopg.Connection
    app: Tenure
    cli: Cli
    with_app: Http
    without_app: Http
    worker: RunningWorker
    folder: Path

    def enqueue_sql(self, draft: Mapping[str, Any]) -> int:
        [(made,)] = self.sql.execute(
            "SELECT tenure.enqueue(%s::jsonb)", (json.dumps(draft),)
        ).fetchall()
        return int(made[0]["id"])

    def ended(self, job: int) -> Job:
        """Return a job that has ended or was paused."""
        over = {*ENDED, State.PAUSED}
        eventually(lambda: self.store.show(job).state in over, f"job {job} has ended")
        return self.store.show(job)


Entry = Callable[[Scene, str, str], int]


def python(scene: Scene, task: str, n: str) -> int:
    return scene.app.tasks[task].enqueue(n=n).id


def python_async(scene: Scene, task: str, n: str) -> int:
    async def enqueue() -> int:
        try:
            return (await scene.app.tasks[task].aenqueue(n=n)).id
        finally:
            await scene.app.aclose()

    return asyncio.run(enqueue())


def python_transaction(scene: Scene, task: str, n: str) -> int:
    with scene.sql.transaction():
        return scene.app.tasks[task].using(connection=scene.sql).enqueue(n=n).id


def python_bulk(scene: Scene, task: str, n: str) -> int:
    first, _ = scene.app.tasks[task].enqueue_many([{"n": n}, {"n": f"{n} too"}])
    return first.id


def sql(scene: Scene, task: str, n: str) -> int:
    return scene.enqueue_sql({"task": task, "args": {"n": n}})


def sql_bulk(scene: Scene, task: str, n: str) -> int:
    [(ids,)] = scene.sql.execute(
        "SELECT tenure.enqueue_many(%s::jsonb, %s::jsonb)",
        (json.dumps([{"n": n}]), json.dumps({"task": task})),
    ).fetchall()
    return int(ids[0])


def command_line(scene: Scene, task: str, n: str) -> int:
    return int(scene.cli.json("job", "enqueue", task, f"n={n}")["id"])


def rest(scene: Scene, task: str, n: str, *, app: bool) -> int:
    http = scene.with_app if app else scene.without_app
    made = http.post("/api/jobs", {"task": task, "args": {"n": n}})
    assert made.status_code == 201, made.text
    return int(made.json()["id"])


def schedule(scene: Scene, task: str, n: str) -> int:
    """As a worker does when the time of a schedule has come."""
    made = make_schedule(scene.app.tasks[task], "0 0 1 1 *", args={"n": n})
    due = datetime.now(UTC)
    [job] = scene.store.enqueue_reserved(
        made.due(due), idempotency=made.key_of(due), by=f"schedule:{made.name}", via="worker"
    )
    return job.id


def spawn(scene: Scene, task: str, n: str) -> int:
    parent = scene.app.tasks["spawns"].enqueue(tasks=[task], n=n)
    [child] = parent.result(timeout="45s")
    return int(child)


def rerun(scene: Scene, task: str, n: str) -> int:
    old = scene.enqueue_sql({"task": task, "args": {"n": n}, "delay": "1h"})
    scene.store.stop(old, force=True)
    return scene.store.rerun(old).id


def replace(scene: Scene, task: str, n: str) -> int:
    draft = {"task": task, "args": {"n": n}, "when_taken": "replace"}
    # A task with a unique key of its own has one to be replaced by.
    key = {} if task.endswith(".unique") else {"unique": f"{task} {n}"}
    old = scene.enqueue_sql({**draft, **key, "delay": "1h"})
    new = scene.enqueue_sql({**draft, **key})
    assert scene.store.show(old).state is State.CANCELLED
    return new


ENTRIES: Mapping[str, Entry] = {
    "python": python,
    "python async": python_async,
    "python in a transaction": python_transaction,
    "python bulk": python_bulk,
    "sql": sql,
    "sql bulk": sql_bulk,
    "command line": command_line,
    "rest with the app": partial(rest, app=True),
    "rest without the app": partial(rest, app=False),
    "schedule": schedule,
    "spawn": spawn,
    "rerun": rerun,
    "replace": replace,
}


@pytest.fixture(scope="module")
def scene(shared_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    wipe(shared_database)
    folder = tmp_path_factory.mktemp("declared")
    with ExitStack() as stack:
        store = stack.enter_context(Store(shared_database))
        store.create_pool("declared", slots=[f"slot {n}" for n in range(2 * len(ENTRIES))])
        store.pause_dispatch("queue", "aside")
        store.set_limit("closed", at_once=1)
        store.close_limit("closed")
        worker = stack.enter_context(
            running_worker(
                shared_database,
                folder,
                *("--processes", "4", "--concurrency", "500"),
                app="tests.apps.declared:app",
                settings=LONGER,
            )
        )
        worker.says(" runs ")
        app = declared.app
        app._url = shared_database
        client = stack.enter_context(Client(shared_database))
        secret, _ = make_token(client, "root", Role.ADMIN)
        root = {"authorization": f"Bearer {secret}"}
        yield Scene(
            store,
            stack.enter_context(psycopg.connect(shared_database, autocommit=True)),
            stack.enter_context(app),
            Cli(shared_database),
            stack.enter_context(asking(create_app(app))).as_(root),
            stack.enter_context(asking(create_app(client))).as_(root),
            worker,
            folder,
        )


Jobs = Mapping[tuple[str, str], int]


@pytest.fixture(scope="module")
def jobs(scene: Scene) -> Jobs:
    """A job for each option and each entry, all of them at once."""
    made = {
        (option, entry): enqueue(scene, task.name, f"{entry}-{option}".replace(" ", "-"))
        for entry, enqueue in ENTRIES.items()
        for option, task in declared.TASKS.items()
        if option not in OF_THE_APP
    }
    for (option, _), job in made.items():
        if option in STOPPED:
            eventually(lambda job=job: scene.store.show(job).partials, f"job {job} runs")  # type: ignore[misc]
            scene.store.stop(job)
    return made


def test_every_option_of_a_task_is_in_the_table() -> None:
    from tenure.app import TaskOptions

    assert set(OPTIONS) == set(TaskOptions.__annotations__)


def is_failed(scene: Scene, job: int, *words: str) -> None:
    ended = scene.ended(job)
    assert ended.state is State.FAILED
    assert any(word in f"{ended.error}" for word in words), ended.error


def check_name(scene: Scene, job: int) -> None:
    assert scene.ended(job).result == "a name of its own"


def check_executor(scene: Scene, job: int) -> None:
    assert scene.ended(job).result is False


def check_retry(scene: Scene, job: int) -> None:
    ended = scene.ended(job)
    assert (ended.state, len(ended.attempts)) == (State.FAILED, 2)


def check_timeout(scene: Scene, job: int) -> None:
    is_failed(scene, job, "300ms")
    assert len(scene.store.show(job).attempts) == 1


def check_deadline(scene: Scene, job: int) -> None:
    ended = scene.ended(job)
    assert ended.state is State.CANCELLED
    assert "deadline" in str(ended.cancellation_reason)


def check_grace(scene: Scene, job: int) -> None:
    is_failed(scene, job, "100ms")


def check_ask_for(scene: Scene, job: int) -> None:
    assert scene.ended(job).state is State.CANCELLED
    [_, asked_for] = scene.store.job_output(job, "partials")
    assert asked_for["value"] >= 0.5, "of a second, less what a busy machine takes"


def check_last_rung(scene: Scene, job: int) -> None:
    eventually(lambda: scene.store.show(job).partials == 2, f"job {job} was left alone")


def check_block_on(scene: Scene, job: int) -> None:
    target = scene.ended(job).target
    assert target is not None
    assert target.startswith("blocked:")
    assert [it for it in scene.store.targets() if it.name == target and it.blocked_by] == []


def check_budget(scene: Scene, job: int) -> None:
    is_failed(scene, job, "tokens")


def check_on_budget(scene: Scene, job: int) -> None:
    assert scene.ended(job).state is State.PAUSED


def check_pools(scene: Scene, job: int) -> None:
    assert scene.ended(job).result == ["declared"]


def check_limits(scene: Scene, job: int) -> None:
    what = f"job {job} waits for the closed limit"
    eventually(lambda: scene.store.show(job).waiting is Reason.LIMIT, what)


def check_memory(scene: Scene, job: int) -> None:
    ended = scene.ended(job)
    assert ended.state is State.FAILED
    assert len(ended.attempts) == 1


def check_preserve_artifacts(scene: Scene, job: int) -> None:
    assert scene.ended(job).state is State.CANCELLED
    eventually(lambda: not scene.store.show(job).artifacts, f"the artifact of job {job} is gone")


def check_cancel_pauses(scene: Scene, job: int) -> None:
    assert scene.ended(job).state is State.PAUSED


def check_close_timeout(scene: Scene, job: int) -> None:
    assert scene.ended(job).result == "not closed in time"


def check_orphan(scene: Scene, job: int) -> None:
    """Its worker has been killed by then."""
    is_failed(scene, job, "worker", "Orphan")


def check_tags(scene: Scene, job: int) -> None:
    assert job in {it.id for it in scene.store.list_jobs({"tag": "declared"}, n=500)}


def check_target(scene: Scene, job: int) -> None:
    holders = {it.holder for it in scene.store.targets() if it.name.startswith("held:")}
    assert eventually(lambda: scene.store.show(job).state is State.RUNNING)
    assert job in holders or job in {it.holder for it in scene.store.targets()}


def check_unique(scene: Scene, job: int) -> None:
    seen = scene.store.show(job)
    draft = NewJob(task=seen.task, unique=f"unique:{seen.args['n']}", owner=seen.owner)
    [again] = scene.store.enqueue(draft)
    assert (again.id, again.created) == (job, False)


CHECKED_LAST = ("queue", "priority", "orphan")  # each for all entries together
EACH = [option for option in OPTIONS if option not in (*CHECKED_LAST, *OF_THE_APP)]
# A rerun is a job of its own: it takes no unique key along.
NOT_ALONG = {("unique", "rerun")}


CELLS = [cell for cell in product(EACH, ENTRIES) if cell not in NOT_ALONG]


@pytest.mark.parametrize(("option", "entry"), CELLS)
def test_an_option_holds_for_a_job(option: str, entry: str, scene: Scene, jobs: Jobs) -> None:
    globals()[f"check_{option}"](scene, jobs[option, entry])


def test_a_queue_and_a_priority_hold_for_a_job(scene: Scene, jobs: Jobs) -> None:
    """Nothing of a paused queue starts; then those of the higher priority come first."""
    first = [scene.store.show(jobs["priority", entry]) for entry in ENTRIES]
    then = [scene.store.show(jobs["queue", entry]) for entry in ENTRIES]
    assert [job.started_at for job in (*first, *then)] == [None] * 2 * len(ENTRIES)
    scene.store.resume_dispatch("queue", "aside")
    began = [scene.ended(job.id).started_at for job in first]
    after = [scene.ended(job.id) for job in then]
    assert {job.result for job in after} == {"aside"}
    assert max(filter(None, began)) <= min(job.started_at for job in after if job.started_at)


def test_the_end_of_a_worker_fails_a_job_that_wants_that(scene: Scene, jobs: Jobs) -> None:
    orphans = [jobs["orphan", entry] for entry in ENTRIES]
    for job in orphans:
        eventually(lambda job=job: scene.store.show(job).state is State.RUNNING)  # type: ignore[misc]
    scene.worker.process.kill()
    scene.worker.process.wait()
    eventually(lambda: scene.store.sweep().tenants)
    scene.store.recover()
    for job in orphans:
        check_orphan(scene, job)
