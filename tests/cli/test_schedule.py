"""``tenure schedule``: the schedules of an app on the command line."""

from pathlib import Path

import pytest

from tenure.domain.job import NewJob
from tenure.store.store import Store
from tests.cli.running import Cli

APP = """
from tenure import Tenure

app = Tenure()


@app.schedule("0 3 * * *", tz="Europe/Berlin", args={"kind": "short"})
@app.task(name="nightly")
def nightly(kind: str = "full") -> None: ...
"""
NAMED = ("--app", "app_of_test_schedule.py:app")


@pytest.fixture
def scheduled(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    (tmp_path / "app_of_test_schedule.py").write_text(APP)
    monkeypatch.chdir(tmp_path)
    return cli


def test_a_schedule_is_listed_paused_and_resumed(scheduled: Cli, store: Store) -> None:
    [row] = scheduled("schedule", "list", *NAMED).rows
    assert row[:4] == ["nightly", "0 3 * * *", "Europe/Berlin", "nightly"]
    assert row[4].startswith("in ")
    words = ("schedule", "pause", "nightly", "--reason", "holidays")
    assert "there is no schedule 'nightly'" in scheduled(*words).sentence(10)
    assert scheduled(*words, *NAMED).out == "Schedule nightly is paused.\n"
    assert "paused by db:" in scheduled("schedule", "list", *NAMED).out
    [listed] = scheduled.json("schedule", "list", *NAMED)
    assert (listed["next_at"], listed["pause"]["reason"]) == (None, "holidays")
    assert store.enqueue_reserved(NewJob(task="nightly"), by="schedule:nightly") == ()
    [row] = scheduled.json("audit", "--subject", "schedule")
    assert (row["verb"], row["name"], row["via"], row["reason"]) == (
        *("pause", "nightly", "cli", "holidays"),
    )
    assert "is resumed" in scheduled("schedule", "resume", "nightly").out
    assert "there is no schedule" in scheduled("schedule", "resume", "nightly").sentence(10)


def test_a_schedule_that_has_enqueued_a_job_is_known_without_its_app(
    cli: Cli, store: Store
) -> None:
    store.enqueue_reserved(NewJob(task="work"), by="schedule:nightly")
    assert "is paused" in cli("schedule", "pause", "nightly").out
    assert "nearest is 'nightly'" in cli("schedule", "pause", "nightl").sentence(10)


def test_a_schedule_is_run_at_once(scheduled: Cli, store: Store) -> None:
    made = scheduled.json("schedule", "run", "nightly", *NAMED)
    job = store.show(made["id"])
    assert (job.task, job.args, job.tags) == ("nightly", {"kind": "short"}, ("schedule:nightly",))
    assert "nearest is 'nightly'" in scheduled("schedule", "run", "nightl", *NAMED).sentence(10)
    assert "name it with --app" in scheduled("schedule", "run", "nightly").sentence(2)
    assert len(store.list_jobs()) == 1


def test_a_run_beside_one_that_has_not_ended_is_asked_for(scheduled: Cli, store: Store) -> None:
    [first] = store.enqueue_reserved(NewJob(task="nightly"), by="schedule:nightly")
    refused = scheduled("schedule", "run", "nightly", *NAMED).sentence(11)
    assert f"job {first.id} of schedule 'nightly' has not ended" in refused
    assert "overlap is 'skip'" in refused
    made = scheduled.json("schedule", "run", "nightly", "--beside", *NAMED)
    assert f"job {made['id']} of" in scheduled("schedule", "run", "nightly", *NAMED).sentence(11)
    store.stop(first.id)
    store.stop(made["id"])
    assert scheduled.json("schedule", "run", "nightly", *NAMED)["id"] > made["id"]


def test_a_list_of_schedules_makes_no_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "app_without_a_database.py").write_text(APP)
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "nothing"
    words = ("schedule", "list", "--app", "app_without_a_database.py:app")
    refused = Cli("", TENURE_FOLDER=str(folder))(*words).sentence(13)
    assert refused.startswith(f"there is no database in {folder}; start one with")
    assert not folder.exists()
