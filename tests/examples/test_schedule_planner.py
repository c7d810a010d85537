"""The planner keeps its lease while it computes, and its best plan when it is stopped."""

import csv
import io
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import psycopg
import pytest
from examples.schedule_planner import planner
from examples.schedule_planner.model import Plan, session_on
from PIL import Image
from sqlalchemy import select

from tenure.store.store import Store
from tests.examples.conftest import pointed_at
from tests.workers import ROOT, Watcher, eventually, running_worker

APP = "examples.schedule_planner.planner:app"
WEEK = [[2, 2, 1]] * 7
HARD = [[7, 6, 5]] * 14  # two weeks with hardly anybody to spare

pytestmark = pytest.mark.usefixtures("planner_database")


def test_a_plan_meets_its_demand_and_has_a_picture(
    worker_of: Any, tmp_path: Path, database: str
) -> None:
    (tmp_path / "demand.csv").write_text("\n".join(",".join(map(str, day)) for day in WEEK))
    with worker_of(APP):
        demand = planner.extract_demand.enqueue(str(tmp_path / "demand.csv")).result("30s")
        assert demand == WEEK
        job = planner.generate_schedule.enqueue(demand, 9, 20.0)
        made = job.result("60s")
        picture = planner.generate_thumbnail.enqueue(made["plan"])
        picture.result("30s")
    shifts = made["plan"]["shifts"]
    assert [[len(people) for people in day] for day in shifts] == WEEK
    assert made["optimal"]
    worked = Counter(who for day in shifts for people in day for who in people)
    assert max(worked.values()) - min(worked.values()) <= 1
    assert max(worked.values()) <= 5
    [kept] = picture.artifacts()
    image = Image.open(io.BytesIO(Path(kept["url"].removeprefix("file://")).read_bytes()))
    assert image.size == (7 * 8, 3 * 8)
    with session_on(database) as session:
        plan = session.exec(select(Plan)).one()
        assert (plan.job_id, plan.unfairness) == (job.id, made["unfairness"])
        assert plan.shifts == shifts


def test_a_solver_keeps_its_lease_for_far_longer_than_it_lasts(
    worker_of: Any, store: Store
) -> None:
    with worker_of(APP):
        assert planner.hold.enqueue(12.0).result("60s") == 12.0  # four leases
    [job] = store.list_jobs({"task": "hold_job"})
    assert (job.attempt, job.crashes) == (1, 0)


@pytest.mark.parametrize("force", [False, True], ids=["asked", "killed"])
def test_stopped_early_the_best_plan_so_far_is_kept(
    worker_of: Any, store: Store, sql: psycopg.Connection, force: bool
) -> None:
    with worker_of(APP):
        job = planner.generate_schedule.enqueue(HARD, 27, 120.0)
        eventually(job.partials, "a first solution", 60)
        assert eventually(lambda: job.job().progress, "progress")["total"] == 120.0
        record = job.cancel("the demand has changed", force=force)
        ended = Watcher(store).record_ends(record.cancellation_id, 60)
    assert job.status() == "cancelled"
    assert ended.members[0].rung == ("killed" if force else "asked")
    best = job.partials()[-1]
    assert [[len(people) for people in day] for day in best["shifts"]] == HARD
    assert job.job().checkpoint["best"] == best["unfairness"]
    assert sql.execute("SELECT FROM plan").fetchall() == []


def test_a_search_without_a_solution_is_stopped_too(worker_of: Any, store: Store) -> None:
    """The demand of the README takes minutes; nothing is found in its first moments."""
    with (Path(planner.__file__).parent / "demand.csv").open() as file:
        demand = [[int(cell) for cell in row] for row in csv.reader(file)]
    with worker_of(APP):
        job = planner.generate_schedule.enqueue(demand * 4, 27, 600.0)
        eventually(lambda: job.status() == "running", "it searches")
        record = job.cancel("the demand has changed")
        ended = Watcher(store).record_ends(record.cancellation_id)
    assert job.status() == "cancelled"
    assert ended.members[0].rung == "asked"


def test_a_demand_that_cannot_be_met_is_an_error(worker_of: Any) -> None:
    with worker_of(APP):
        job = planner.generate_schedule.using(retry=0).enqueue([[2, 2]], 3, 20.0)
        assert job.wait("60s").error_message == "3 people cannot meet this demand"


def test_the_history_of_alembic_makes_a_database_that_works(
    empty_database: str, tmp_path: Path
) -> None:
    _alembic(empty_database, "upgrade", "head")
    with (
        pointed_at(planner.app, empty_database),
        running_worker(empty_database, tmp_path, app=APP),
    ):
        job = planner.generate_schedule.enqueue(WEEK, 9, 20.0)
        assert job.result("60s")["plan"]
    with session_on(empty_database) as session:
        assert session.exec(select(Plan.job_id)).all() == [job.id]
    _alembic(empty_database, "downgrade", "base")
    with psycopg.connect(empty_database) as connection:
        left = connection.execute("SELECT to_regclass('tenure.job'), to_regclass('plan')")
        assert left.fetchone() == (None, None)


def _alembic(url: str, *words: str) -> None:
    """As the README says."""
    ini = "examples/schedule_planner/alembic.ini"
    subprocess.run(
        [sys.executable, "-m", "alembic", "-c", ini, *words],
        cwd=ROOT,
        env={**os.environ, "TENURE_DATABASE_URL": url},
        check=True,
    )
