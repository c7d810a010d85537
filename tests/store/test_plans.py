"""What a call touches depends neither on how much lies in the tables nor on what the planner knows.

The statements stand inside functions, so what counts is what they really do: a call is carried out
in a transaction that is rolled back, and PostgreSQL tells which tables it read as a whole and how
many buffers it touched.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import Rung
from tenure.store.call import Call
from tenure.store.calls import control_calls, enqueue_calls, queries, upkeep, worker_calls
from tenure.store.outcomes import Ending, Report
from tenure.store.store import Store
from tests.conftest import with_database
from tests.factories import end_as_stopped, make_job, make_worker

MANY = 20_000
HOUR = timedelta(hours=1)
BATCH = 10
SLACK = 200  # a further level in each index of each row that is written
MORE_TO_SHOW = {"workers": 4 * 100}  # up to a hundred jobs of each, a few buffers for each of them
BIG_TABLES = ("job", "payload", "edge", "wake")

FILL = {
    "nothing": "",
    "ready": "",
    "running": """
        UPDATE tenure.job SET state = 'running', ready = false, worker_id = %(worker)s,
            token = 1, attempt = 1, started_at = tenure.now()""",
    "finished": "UPDATE tenure.job SET state = 'completed', ready = false, ended_at = tenure.now()",
    "scheduled": """
        UPDATE tenure.job SET ready = false, waiting = 'time',
            run_at = tenure.now() + interval '1 h'""",
    "behind a blocked target": """
        UPDATE tenure.job SET ready = false, waiting = 'target', target = 'blocked'""",
    "emptied": "DELETE FROM tenure.job",
}


@dataclass(frozen=True)
class Shape:
    """What lies in the tables, and when the planner was last told."""

    rows: str
    analyzed: str

    def __str__(self) -> str:
        return f"{self.rows}, analyzed {self.analyzed}"

    @property
    def factor(self) -> float:
        """How much more than in a small table is allowed; planning leaves dead rows behind."""
        return 4 if "planned" in self.analyzed else 1.5


SHAPES = [
    Shape("nothing", "never"),
    *(Shape(rows, "afterwards") for rows in FILL if rows not in ("nothing", "emptied")),
    Shape("ready", "when empty"),
    Shape("ready", "never"),
    Shape("running", "when empty"),
    Shape("finished", "never"),
    Shape("scheduled", "when empty"),
    Shape("behind a blocked target", "never"),
    Shape("emptied", "when full"),
    Shape("ready", "and planned when small"),
    Shape("finished", "and planned when small"),
]


@dataclass(frozen=True)
class Scene:
    """A database in one shape, with a few jobs in it for each verb to act on."""

    connection: psycopg.Connection
    calls: Mapping[str, Call[Any] | str]


@dataclass(frozen=True)
class Cost:
    scanned: tuple[str, ...]  # tables that were read as a whole
    buffers: int


def cost(scene: Scene, verb: str) -> Cost:
    """Carry the call out twice, the first time to have it planned, and undo it."""
    call = scene.calls[verb]
    text, values = (
        (call, ()) if isinstance(call, str) else (call.sql(iter(lambda: "%s", None)), call.values)
    )
    with scene.connection.transaction(force_rollback=True):
        with scene.connection.transaction(force_rollback=True):
            scene.connection.execute(text.encode(), values)
        before = scans(scene.connection)
        row = scene.connection.execute(
            f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {text}".encode(), values
        ).fetchone()
        after = scans(scene.connection)
    assert row is not None
    plan = (json.loads(row[0]) if isinstance(row[0], str) else row[0])[0]["Plan"]
    return Cost(
        tuple(table for table in BIG_TABLES if after[table] > before[table]),
        plan["Shared Hit Blocks"] + plan["Shared Read Blocks"],
    )


def scans(connection: psycopg.Connection) -> Mapping[str, int]:
    rows = connection.execute(
        "SELECT relname, seq_scan FROM pg_stat_xact_user_tables WHERE schemaname = 'tenure'"
    ).fetchall()
    return dict(rows)


def fill(store: Store, sql: psycopg.Connection, shape: Shape) -> None:
    if shape.analyzed == "when empty":
        sql.execute("ANALYZE")
    if shape.rows != "nothing":
        worker = make_worker(store, HOUR)
        if shape.rows == "behind a blocked target":
            make_job(store, target="blocked")
            store.promote()
            worker.claim_one()
        store.enqueue_many(NewJob(task="bulk"), [{"n": n} for n in range(MANY)])
        if shape.analyzed == "when full":
            sql.execute("ANALYZE")
        if statement := FILL[shape.rows]:
            only = " AND" if " WHERE " in statement else " WHERE"
            sql.execute(
                f"{statement}{only} lane = (SELECT max(id) FROM tenure.lane)".encode(),
                {"worker": worker.id},
            )
        if shape.rows == "emptied":
            sql.execute("DELETE FROM tenure.payload")
            sql.execute("VACUUM tenure.job, tenure.payload")
    if shape.analyzed == "afterwards":
        sql.execute("ANALYZE")


def furnish(store: Store, sql: psycopg.Connection) -> Mapping[str, Call[Any] | str]:
    """The same few jobs in every shape, and the calls about them."""
    hot = [NewJob(task="hot", queue="hot") for _ in range(BATCH * 3)]
    worker = make_worker(store, HOUR)
    store.enqueue(hot)
    claim = store.claim(worker.id, BATCH, queues=["hot"])
    held = claim.jobs
    dead = make_worker(store, HOUR)
    dead.claim(BATCH, queues=["hot"])
    sql.execute(
        "UPDATE tenure.worker SET expires_at = tenure.now() - interval '1 s', "
        "dead_at = tenure.now() WHERE id = %s",
        (dead.id,),
    )
    # A record whose last member has ended, dependents of what completed, due jobs, free targets.
    stopped = store.enqueue([NewJob(task="hot", queue="stop") for _ in range(BATCH)])
    stopping = worker.claim(BATCH, queues=["stop"])
    for job in stopping:
        store.stop(job.id)
    needs = store.enqueue([NewJob(task="hot", queue="need") for _ in range(BATCH)])
    store.enqueue([NewJob(task="hot", queue="late", after=[need.id]) for need in needs])
    store.promote()
    for job in worker.claim(BATCH, queues=["need"]):
        worker.finish(job)
    for job in stopping:
        end_as_stopped(worker, job, Rung.ASKED)
    store.enqueue([NewJob(task="hot", queue="lined", target=f"t{n}") for n in range(BATCH)])
    due = store.enqueue([NewJob(task="hot", queue="due", delay=HOUR) for _ in range(BATCH)])
    sql.execute(
        "UPDATE tenure.job SET run_at = tenure.now() - interval '1 s' WHERE id = ANY (%s)",
        ([job.id for job in due],),
    )
    assert len(held) == len(stopped) == BATCH
    return {
        "claim": worker_calls.claim(worker.id, BATCH, queues=["hot"]),
        "claim from all queues": worker_calls.claim(worker.id, BATCH),
        "claim with floors": worker_calls.claim(
            worker.id, BATCH, queues=["hot"], floors=claim.floors
        ),
        "finish": worker_calls.finish(
            worker.id, [Ending(job=j.id, token=j.token, outcome="completed", value=1) for j in held]
        ),
        "retry": worker_calls.finish(
            worker.id, [Ending(job=j.id, token=j.token, outcome="retry") for j in held]
        ),
        "crash": worker_calls.crash(worker.id, [Ending(job=j.id, token=j.token) for j in held]),
        "exchange": worker_calls.exchange(
            worker.id,
            [Ending(job=j.id, token=j.token, outcome="completed", value=1) for j in held],
            [worker_calls.Want(n=BATCH, queues=["hot"]), worker_calls.Want(n=1, queues=["none"])],
        ),
        "waiting priority": worker_calls.waiting_priority(worker.id, queues=["hot"]),
        "workers": queries.workers(),
        "scale": queries.scale(),
        "next due": "SELECT tenure.next_due()",
        "report": worker_calls.report(
            worker.id,
            [Report(job=j.id, token=j.token, progress={"n": 1}, spent={"s": 1}) for j in held],
        ),
        "renew": worker_calls.renew(worker.id),
        "promote linked": f"SELECT tenure.promote_linked({BATCH})",
        "promote due": f"SELECT tenure.promote_due({BATCH})",
        "promote targets": f"SELECT tenure.promote_targets({BATCH})",
        "promote records": f"SELECT tenure.close_complete({BATCH})",
        "recover": upkeep.recover(),
        "stop": control_calls.stop(due[0].id),
        "stop what runs": control_calls.stop(held[0].id),
        "read_signals": worker_calls.read_signals(worker.id),
        "enqueue": enqueue_calls.enqueue(NewJob(task="hot", queue="hot")),
        "enqueue with keys": enqueue_calls.enqueue(
            [NewJob(task="hot", queue="hot", unique=f"u{n}") for n in range(BATCH)]
        ),
        "enqueue a child": enqueue_calls.enqueue(
            NewJob(task="hot", queue="hot", parent=held[0].id, after=[held[1].id])
        ),
    }


def plan(scene: Scene) -> None:
    """Carry everything out until PostgreSQL keeps its plans, while an index looks like a waste."""
    scene.connection.execute("ANALYZE")
    for _ in range(6):
        for verb in VERBS:
            cost(scene, verb)


VERBS = [
    "claim", "claim from all queues", "claim with floors", "finish", "retry", "crash", "report",
    "exchange", "waiting priority", "workers", "next due",
    "renew", "promote linked", "promote due", "promote targets", "promote records", "recover",
    "stop", "stop what runs", "read_signals", "enqueue", "enqueue with keys", "enqueue a child",
]  # fmt: skip


Open = Callable[[Shape], Scene]


@pytest.fixture(scope="module")
def scenes(server: str, template: str) -> Iterator[Open]:
    """Each shape once."""
    made: dict[Shape, Scene] = {}
    names: list[str] = []
    admin = psycopg.connect(server, autocommit=True)

    def open_one(shape: Shape) -> Scene:
        if shape not in made:
            names.append(name := f"plans_{len(names)}")
            admin.execute(f"CREATE DATABASE {name} TEMPLATE {template}".encode())
            connection = psycopg.connect(with_database(server, name), autocommit=True)
            with Store(with_database(server, name)) as store:
                if shape.analyzed == "and planned when small":
                    made[shape] = Scene(connection, furnish(store, connection))
                    plan(made[shape])
                    fill(store, connection, shape)
                else:
                    fill(store, connection, shape)
                    made[shape] = Scene(connection, furnish(store, connection))
        return made[shape]

    yield open_one
    for scene in made.values():
        scene.connection.close()
    for name in names:
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
    admin.close()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_no_call_reads_a_table_as_a_whole(scenes: Open, shape: Shape) -> None:
    scene = scenes(shape)
    scanned = {verb: cost(scene, verb).scanned for verb in VERBS}

    assert {verb: tables for verb, tables in scanned.items() if tables} == {}


@pytest.mark.parametrize("shape", SHAPES[1:], ids=str)
def test_what_a_call_touches_does_not_grow_with_the_tables(scenes: Open, shape: Shape) -> None:
    small, scene = scenes(SHAPES[0]), scenes(shape)
    grown = {}
    for verb in VERBS:
        most = shape.factor * cost(small, verb).buffers + SLACK + MORE_TO_SHOW.get(verb, 0)
        if (buffers := cost(scene, verb).buffers) > most:
            grown[verb] = f"{buffers} buffers, and at most {most:.0f} are allowed"

    assert grown == {}
