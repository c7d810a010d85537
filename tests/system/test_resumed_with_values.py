"""A job that asks a person: it pauses itself and is resumed with the answer, through every door."""

from pathlib import Path
from typing import Any

import pytest

from tenure.control.client import Client
from tenure.control.handle import Handle
from tenure.control.tokens import make_token
from tenure.domain.lifecycle import State
from tenure.domain.principal import Role
from tenure.domain.tenant import DEFAULT
from tenure.store.store import Store
from tenure.web import create_app
from tests.cli.running import Cli
from tests.factories import make_job
from tests.web.http_client import asking
from tests.workers import Watcher, running_worker

APP = "tests.apps.asking:app"
ANSWER = {"approved": True}


@pytest.mark.parametrize("task", ["asks", "asks_in_a_process", "asks_in_a_thread"])
def test_the_code_of_a_job_gets_the_answer(
    database: str, store: Store, tmp_path: Path, task: str
) -> None:
    with running_worker(database, tmp_path, app=APP), Client(database) as client:
        job = make_job(store, f"tests.apps.asking.{task}")
        Watcher(store).becomes(job, State.PAUSED)
        handle = Handle[Any](client, job, DEFAULT)
        handle.resume(value=ANSWER)
        assert handle.result("20s") == ANSWER


def test_every_door_shows_the_question_and_takes_the_answer(
    database: str, store: Store, tmp_path: Path
) -> None:
    cli = Cli(database)
    with running_worker(database, tmp_path, app=APP), Client(database) as client:
        watcher = Watcher(store)
        job = make_job(store, "tests.apps.asking.asks")
        watcher.becomes(job, State.PAUSED)
        shown = cli("job", "show", str(job)).out
        assert "paused      needs a human" in shown
        assert "Error" not in shown
        assert "needs a human" in cli("job", "list").out
        assert "it paused itself: needs a human" in cli("job", "explain", str(job)).out
        assert cli("job", "resume", str(job), "--value", '{"approved": true}').code == 0
        watcher.becomes(job, State.COMPLETED)
        assert store.show(job).result == ANSWER

        secret, _ = make_token(client, "root", Role.ADMIN)
        with asking(create_app(client)) as http:
            http = http.as_({"authorization": f"Bearer {secret}"})
            job = make_job(store, "tests.apps.asking.asks")
            watcher.becomes(job, State.PAUSED)
            seen = http.get(f"/api/jobs/{job}").json()
            assert (seen["pause_reason"], seen["error"]) == ("needs a human", None)
            assert http.post(f"/api/jobs/{job}/resume", {"value": "yes"}).status_code == 200
            watcher.becomes(job, State.COMPLETED)
            assert store.show(job).result == "yes"
    assert "--value is for one job" in cli(
        "job", "resume", "--where", "queue=default", "--value", "1"
    ).sentence(2)
