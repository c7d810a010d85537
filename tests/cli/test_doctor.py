"""The command ``tenure doctor``: what it finds in a real database."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tenure.cli.main import app
from tenure.control.client import Client
from tenure.control.tokens import make_token
from tenure.domain.principal import Role
from tenure.store.store import Store
from tenure.testing import Clock
from tests.factories import make_job, make_worker, promote
from tests.system.test_pgbouncer import PGBOUNCER, pooled

__all__ = ["pooled"]

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Doctor:
    def __init__(self, url: str, capsys: pytest.CaptureFixture[str]) -> None:
        self._url = url
        self._capsys = capsys

    def says(self, code: int, *words: str) -> str:
        with pytest.raises(SystemExit) as ended:
            app(["doctor", "--url", self._url, *words])
        said = self._capsys.readouterr()
        assert (ended.value.code, said.err) == (code, ""), said.out
        return said.out

    def finds(self, code: int, *words: str) -> dict[str, Any]:
        found = json.loads(self.says(code, "--json", *words))["findings"]
        return {finding["check"]: finding for finding in found}


@pytest.fixture
def doctor(database: str, capsys: pytest.CaptureFixture[str]) -> Doctor:
    return Doctor(database, capsys)


def test_a_database_at_work_is_fine(doctor: Doctor, store: Store) -> None:
    worker = make_worker(store)
    make_job(store)
    promote(store)
    worker.claim_one()
    said = doctor.says(0)
    assert "✗" not in said
    assert "✓ workers      1 alive\n" in said
    # The server of the tests does without.
    assert "! durability   fsync is off" in said
    assert "               ALTER SYSTEM SET fsync = on\n" in said


def test_every_check_is_there_as_json(doctor: Doctor) -> None:
    found = doctor.finds(0)
    assert list(found) == [
        *("postgresql", "schema", "durability", "notices", "clock", "connections", "workers"),
        *(
            "queues",
            "tasks",
            "leases",
            "stops",
            "cleanup",
            "vacuum",
            "bloat",
            "retention",
            "tokens",
        ),
        *("artifacts", "runners", "stopping"),
    ]
    assert found["stopping"]["sentence"].startswith("a worker on this host ends process trees by ")
    assert found["schema"] == {"check": "schema", "level": "fine", "sentence": "up to date"}
    assert found["workers"]["remedy"] == "start one: tenure worker MODULE:APP"


def test_a_database_that_is_away_is_one_finding(capsys: pytest.CaptureFixture[str]) -> None:
    away = Doctor("postgresql://nobody@127.0.0.1:1/none", capsys)
    [(check, finding)] = away.finds(13).items()
    assert check == "postgresql"
    assert finding["sentence"].startswith("the database cannot be reached")
    assert "✗ postgresql   the database cannot be reached" in away.says(13)


def test_a_database_without_the_schema_is_told_to_migrate(
    empty_database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = Doctor(empty_database, capsys).finds(13)
    assert found["schema"]["remedy"] == "run: tenure migrate"


def test_jobs_that_nobody_will_start(doctor: Doctor, store: Store) -> None:
    make_worker(store, queues=["crawl"])
    make_job(store, queue="mail")
    make_job(store, queue="crawl")
    make_job(store, queue="held")
    store.pause_dispatch("queue", "held")
    promote(store)
    found = doctor.finds(1)
    assert found["queues"]["sentence"] == "no worker serves mail (1 waiting)"
    assert found["queues"]["remedy"].endswith("--queues mail")


def test_a_worker_that_fell_silent_and_what_it_ran(
    doctor: Doctor, store: Store, clock: Clock
) -> None:
    worker = make_worker(store)
    job = make_job(store)
    promote(store)
    worker.claim_one()
    clock.advance(MINUTE)
    found = doctor.finds(1)
    assert found["workers"]["sentence"] == "0 alive, 1 late: test-host pid 1"
    assert found["leases"]["sentence"] == f"1 running job has no live worker ({job})"


def test_a_stop_that_does_not_end(doctor: Doctor, store: Store, clock: Clock) -> None:
    worker = make_worker(store, HOUR)
    slow = make_job(store, options={"grace": "10m"})
    quick = make_job(store)
    promote(store)
    worker.claim(2)
    for job in (slow, quick):
        store.stop(job)
    assert doctor.finds(0)["stops"]["sentence"] == "2 under way, none overdue"
    clock.advance(MINUTE)
    found = doctor.finds(1)["stops"]
    assert found["sentence"].startswith("1 stop is overdue: cancel-")
    assert found["remedy"] == f"why: tenure job explain {quick}"


def test_a_resource_that_could_not_be_closed(doctor: Doctor, store: Store) -> None:
    worker = make_worker(store)
    jobs = [make_job(store), make_job(store)]
    promote(store)
    clean, unclean = worker.claim(2)
    worker.finish(clean, cleanup={"failed": []})
    worker.finish(unclean, cleanup={"failed": [{"name": "browser", "error": "it hangs"}]})
    assert f"could not close a resource ({jobs[1]})" in doctor.finds(0)["cleanup"]["sentence"]


def test_a_transaction_that_holds_vacuum_back(doctor: Doctor, store: Store, database: str) -> None:
    with psycopg.connect(database, application_name="report") as connection:
        connection.execute("SELECT count(*) FROM tenure.job")
        connection.execute("SELECT txid_current()")
        oldest = store.server().oldest
        assert oldest is not None
        assert (oldest.name, oldest.idle) == ("report", True)
        assert doctor.finds(0)["vacuum"]["level"] == "fine"  # it is not long yet


def test_an_admin_token_that_never_expires(doctor: Doctor, database: str) -> None:
    with Client(database) as client:
        make_token(client, "ada", Role.ADMIN, lifetime=HOUR)
        assert doctor.finds(0)["tokens"]["level"] == "fine"
        make_token(client, "ci", Role.ADMIN, lifetime=None)
    assert "never expires: ci (" in doctor.finds(0)["tokens"]["sentence"]


def test_a_viewer_may_ask_and_tokens_are_not_its_affair(doctor: Doctor, database: str) -> None:
    with Client(database) as client:
        secret, _ = make_token(client, "vic", Role.VIEWER)
    found = doctor.finds(0, "--token", secret)
    assert "tokens" not in found
    assert found["workers"]["level"] == "warning"


def test_a_database_user_who_may_only_look_is_told_what_it_cannot_see(
    database: str, sql: psycopg.Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    sql.execute("DROP ROLE IF EXISTS onlooker")
    sql.execute("CREATE ROLE onlooker LOGIN")
    try:
        sql.execute("SELECT tenure.admit('onlooker', 'viewer')")
        found = Doctor(database.replace("postgres@", "onlooker@"), capsys).finds(0)
        assert found["schema"]["sentence"] == "not checked: this user may not read it"
        assert found["queues"]["level"] == "fine"
    finally:
        sql.execute("DROP OWNED BY onlooker")
        sql.execute("DROP ROLE onlooker")


def test_artifacts_that_cannot_be_kept(
    doctor: Doctor, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "file").touch()
    monkeypatch.setenv("TENURE_ARTIFACTS", str(folder / "file" / "below"))
    found = doctor.finds(1)["artifacts"]
    assert found["sentence"].endswith("cannot be written")
    monkeypatch.setenv("TENURE_ARTIFACTS", "s3://user:secret@bucket/place")
    assert "secret" not in json.dumps(doctor.finds(0))


@pytest.mark.skipif(
    PGBOUNCER is None, reason="there is no pgbouncer here: apt-get install pgbouncer"
)
def test_a_pooler_that_swallows_notices_is_seen(
    pooled: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = Doctor(pooled, capsys).finds(0)["notices"]
    assert found["level"] == "warning"
    assert "pooler in transaction mode?" in found["sentence"]
