"""The planner keeps its lease while it computes and its best plan when stopped; orphans fail."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy
from alembic import command
from alembic.config import Config
from examples.schedule_planner import planner
from PIL import Image
from psycopg.conninfo import conninfo_to_dict

from tenure.config import PORTUGUESE_ORPHAN_MESSAGE, Settings
from tenure.domain.lifecycle import State
from tenure.store.store import Store
from tests.examples.conftest import pointed_at
from tests.workers import Watcher, eventually, running_worker

APP = "examples.schedule_planner.planner:app"
WEEK = [[2, 2, 1]] * 7
HARD = [[7, 6, 5]] * 56  # eight weeks with hardly anybody to spare


@pytest.fixture(autouse=True)
def _app(database: str) -> Iterator[None]:
    with pointed_at(planner.app, database):
        yield


def test_a_plan_meets_its_demand_and_has_a_picture(
    worker_of: Any, tmp_path: Path, store: Store
) -> None:
    (tmp_path / "demand.csv").write_text("\n".join(",".join(map(str, day)) for day in WEEK))
    with worker_of(APP):
        demand = planner.extract_demand.enqueue(str(tmp_path / "demand.csv")).result("30s")
        assert demand == WEEK
        made = planner.generate_schedule.enqueue(demand, 9, 20.0).result("60s")
        picture = planner.generate_thumbnail.enqueue(made["plan"])
        picture.result("30s")
    shifts = made["plan"]["shifts"]
    assert [[len(people) for people in day] for day in shifts] == WEEK
    assert made["unfairness"] <= 1
    [kept] = picture.artifacts()
    image = Image.open(io.BytesIO(Path(kept["url"].removeprefix("file://")).read_bytes()))
    assert image.size == (7 * 8, 3 * 8)


def test_a_solver_keeps_its_lease_for_far_longer_than_it_lasts(
    worker_of: Any, store: Store
) -> None:
    with worker_of(APP):
        assert planner.hold.enqueue(12.0).result("60s") == 12.0  # four leases
    [job] = store.list_jobs({"task": "hold_job"})
    assert (job.attempt, job.crashes) == (1, 0)


@pytest.mark.parametrize("force", [False, True], ids=["asked", "killed"])
def test_stopped_early_the_best_plan_so_far_is_kept(
    worker_of: Any, store: Store, force: bool
) -> None:
    with worker_of(APP):
        job = planner.generate_schedule.enqueue(HARD, 27, 120.0)
        eventually(job.partials, "a first solution", 60)
        assert eventually(lambda: job.job().progress, "progress")["total"] == 120.0
        record = job.cancel("the demand has changed", force=force)
        ended = Watcher(store).record_ends(record.cancellation_id, 60)
    assert job.status() == "cancelled"
    assert ended.members[0].rung == ("killed" if force else ended.members[0].rung)
    best = job.partials()[-1]
    assert [[len(people) for people in day] for day in best["shifts"]] == HARD
    assert job.job().checkpoint["best"] == best["unfairness"]


def test_an_orphan_fails_with_its_message_and_can_be_resumed(
    worker_of: Any, store: Store, database: str
) -> None:
    with worker_of(APP) as worker:
        job = planner.hold.enqueue(60.0)
        Watcher(store).becomes(job.id, State.RUNNING)
        started = job.job().started_at
        for process in worker.tree:
            process.kill()
    with worker_of(APP, "--queues", "files"):
        Watcher(store).becomes(job.id, State.FAILED, within=30)
    orphan = job.job()
    assert orphan.error_message == PORTUGUESE_ORPHAN_MESSAGE
    assert orphan.started_at == started
    assert orphan.completed_at is not None
    assert orphan.attempt == 1  # it was not tried again
    job.resume("looked at it")
    assert job.status() == "queued"


def test_the_figures_of_the_orphan_rule() -> None:
    rule = Settings.from_environment(planner.ORPHANS)
    assert (rule.beat.seconds, rule.lease.seconds, rule.orphan_after.seconds) == (30, 120, 120)
    assert rule.on_orphan == "fail"


def test_the_history_of_alembic_makes_a_database_that_works(
    empty_database: str, tmp_path: Path
) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(planner.__file__).parent / "migrations"))
    config.set_main_option("path_separator", "os")
    parts = conninfo_to_dict(empty_database)
    config.attributes["url"] = sqlalchemy.URL.create(
        "postgresql+psycopg",
        str(parts["user"]),
        database=str(parts["dbname"]),
        query={"host": str(parts["host"]), "port": str(parts["port"])},
    )
    command.upgrade(config, "head")
    with (
        pointed_at(planner.app, empty_database),
        running_worker(empty_database, tmp_path, app=APP),
    ):
        plan = planner.generate_schedule.enqueue(WEEK, 9, 20.0)
        assert plan.result("60s")["plan"]
    with psycopg.connect(empty_database) as connection:
        assert connection.execute("SELECT count(*) FROM plan").fetchone() == (0,)
    command.downgrade(config, "base")
    with psycopg.connect(empty_database) as connection:
        assert connection.execute("SELECT to_regclass('tenure.job')").fetchone() == (None,)
