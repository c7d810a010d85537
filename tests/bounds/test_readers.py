"""Nothing that a row holds makes a list, a page, the metrics or the doctor fail."""

import json
from collections.abc import Iterator

import psycopg
import pytest

from tenure.control.client import Client
from tenure.control.tokens import make_token
from tenure.domain.job import NewJob
from tenure.domain.principal import Role
from tenure.store.store import Store
from tenure.web import create_app
from tests.bounds.rows import ODD, UNREADABLE, write
from tests.cli.running import Cli
from tests.web.dashboard.visitor import Visitor
from tests.web.http_client import Http, asking

API = (
    *("jobs", "statistics", "history", "queues", "targets", "pools", "workers", "policies"),
    *("strategies", "bulk", "cancellations", "audit", "tokens", "jobs/{job}", "jobs/{job}/explain"),
    *("jobs/{job}/log", "jobs/{job}/partials", "jobs/{job}/artifacts", "jobs/{job}/tasks"),
)
PAGES = (
    *("", "jobs", "jobs/{job}", "queues", "targets", "pools", "workers", "cancellations"),
    *("bulks", "policies", "audit"),
)
COMMANDS = ("job list", "job show {job}", "stats", "policy list", "audit", "queue list", "doctor")


@pytest.fixture(scope="module")
def client(shared_database: str) -> Iterator[Client]:
    with Client(shared_database) as client:
        yield client


@pytest.fixture(scope="module")
def http(client: Client) -> Iterator[Http]:
    with asking(create_app(client)) as http:
        yield http


@pytest.mark.parametrize("kind", [*ODD, *UNREADABLE])
def test_every_reader_survives_a_row_that_no_door_would_let_in(
    database: str, client: Client, http: Http, store: Store, sql: psycopg.Connection, kind: str
) -> None:
    secret, _ = make_token(client, "root", Role.ADMIN)
    admin = http.as_({"authorization": f"Bearer {secret}"})
    jobs = [store.enqueue(NewJob(task="work", args={"x": 1}))[0].id for _ in range(2)]
    write(sql, {**ODD, **UNREADABLE}[kind], jobs[1])
    for path in API:
        answer = admin.get(f"/api/{path.format(job=jobs[1])}")
        assert answer.status_code == 200, (path, answer.text)
        json.loads(answer.text)
    assert [job["id"] for job in admin.get("/api/jobs").json()] == [jobs[1], jobs[0]]
    metrics = admin.get("/metrics")
    assert metrics.status_code == 200, metrics.text
    assert "tenure_jobs" in metrics.text
    visitor = Visitor(http, secret)
    for path in PAGES:
        visitor.sees(f"/{path.format(job=jobs[1])}")
    store.stops()
    cli = Cli(database)
    for command in COMMANDS:
        done = cli(*command.format(job=jobs[1]).split())
        assert "Traceback" not in done.err, (command, done.err)
        assert done.code == 0 or (command == "doctor" and done.code == 1), (command, done.err)
