"""The command necrocode refuses with a sentence what cannot be done."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from examples.agent_fleet.plan import Plan, Step
from examples.agent_fleet.tasks import TaskRegistry

from tenure import Tenure
from tenure.store.store import Store
from tests.workers import ROOT


@pytest.fixture
def jobs(database: str, store: Store, tmp_path: Path) -> None:
    with Tenure(database) as app:
        for name in ("chat-app", "shop"):
            plan = Plan(name, [Step("server", ["server.py"], in_repo=False)])
            TaskRegistry(app).submit(plan, str(tmp_path))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nowhere"], "there is no job with the key 'nowhere'"),
        (["chat-app", "--task", "shop.server"], "job chat-app has no task shop.server"),
        (["chat-app", "--task", "chat-app.server", "--force"], "--force is for a whole job"),
        (["chat-app", "--no-cascade"], "--no-cascade is for one task; name it with --task"),
    ],
    ids=["no job", "a task of another job", "force for a task", "no cascade for a job"],
)
def test_a_cancel_that_is_impossible_is_refused_before_any_output(
    jobs: None, database: str, store: Store, words: list[str], sentence: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "examples.agent_fleet", "job", "cancel", *words],
        cwd=ROOT,
        env={**os.environ, "TENURE_DATABASE_URL": database},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"necrocode: {sentence}")
    assert store.cancellations() == ()


def test_a_job_that_is_submitted_twice_is_there_once(
    jobs: None, database: str, store: Store, tmp_path: Path
) -> None:
    before = {job.id for job in store.list_jobs()}
    with Tenure(database) as app:
        again = Plan("shop", [Step("server", ["server.py"], in_repo=False)])
        TaskRegistry(app).submit(again, str(tmp_path))
    assert {job.id for job in store.list_jobs()} == before
