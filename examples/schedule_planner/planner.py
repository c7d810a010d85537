"""Shift schedules by a solver, demand from uploaded files, and thumbnails of the plans.

The solver is plain Python that holds a CPU for minutes. It runs in a process of its own, so nothing
it does delays a heartbeat: its lease is kept by the keeper for as long as it takes.
"""

import csv
import io
import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from ortools.sat.python import cp_model
from sqlalchemy import func, or_, select

from examples.schedule_planner.drawing import draw
from examples.schedule_planner.model import Job, JobStatus, session_on
from examples.schedule_planner.rota import Rota, Solution
from tenure import Context, Settings, Tenure

ORPHAN_MESSAGE = "orphan: job RUNNING sem heartbeat; worker provavelmente morreu"
ORPHANS = {  # unless the environment says otherwise
    "TENURE_BEAT": "30s",
    "TENURE_LEASE": "2m",  # two minutes without a beat, and the job is an orphan
    "TENURE_ORPHAN_AFTER": "2m",  # also one that runs without a worker that we know
    "TENURE_PENDING_ORPHAN_AFTER": "1h",  # also one that nobody starts
    "TENURE_RECOVER_EVERY": "1m",
    "TENURE_ON_ORPHAN": "fail",  # not tried again: somebody looks at it first
    "TENURE_ORPHAN_MESSAGE": ORPHAN_MESSAGE,
}
HEAR_EVERY = 0.2  # seconds between two looks whether a search is to stop

app = Tenure(settings=Settings.from_environment({**ORPHANS, **os.environ}))


@app.task(name="generate_schedule_job", queue="solver", grace="20s", ask_for="10s")
def generate_schedule(ctx: Context, demand: list[list[int]], workers: int, within: float) -> Any:
    """Find the fairest rota for a demand within some seconds; the best so far is always kept."""
    rota = Rota(demand, workers)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = within
    solver.parameters.num_workers = 1
    with stopping(solver, ctx):
        status = solver.solve(rota.model, Progress(ctx, rota, within))
    ctx.raise_if_cancelled()
    if status == cp_model.INFEASIBLE:
        raise ValueError(f"{workers} people cannot meet this demand")
    if status == cp_model.UNKNOWN:
        raise TimeoutError(f"no rota was found within {within:g} s; give it longer")
    plan = rota.plan(solver.value)
    ctx.artifact("plan.json", plan)
    with ctx.transaction() as transaction:  # the plan and the end of the job, in one commit
        transaction.connection.execute(
            "INSERT INTO plan (job_id, unfairness, shifts) VALUES (%s, %s, %s)",
            (ctx.job.id, plan["unfairness"], json.dumps(plan["shifts"])),
        )
        transaction.complete(
            {"unfairness": plan["unfairness"], "optimal": status == cp_model.OPTIMAL, "plan": plan}
        )


@contextmanager
def stopping(solver: cp_model.CpSolver, ctx: Context) -> Iterator[None]:
    """End the search as soon as somebody asks the job to stop."""
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.wait(HEAR_EVERY):
            if ctx.cancelled:
                solver.stop_search()

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        is_over.set()
        watcher.join()


class Progress(cp_model.CpSolverSolutionCallback):
    """Keep every better solution: a kill cannot take it back."""

    def __init__(self, ctx: Context, rota: Rota, within: float) -> None:
        super().__init__()
        self._ctx, self._rota, self._within, self._found = ctx, rota, within, 0

    def on_solution_callback(self) -> None:
        self._found += 1
        plan: Solution = self._rota.plan(self.value)
        self._ctx.emit(plan)
        self._ctx.save_checkpoint(best=plan["unfairness"])
        self._ctx.progress(self.wall_time, self._within, f"solution {self._found}")


@app.task(name="extract_demand_job", queue="files", timeout="5m")
def extract_demand(ctx: Context, path: str) -> list[list[int]]:
    """Read the demand from a CSV file: a line per day, a column per shift."""
    with Path(path).open(newline="") as file:
        rows = list(csv.reader(file))
    return [[int(cell) for cell in row] for row in ctx.track(rows)]


@app.task(name="generate_thumbnail_job", queue="files", executor="thread")
def generate_thumbnail(ctx: Context, plan: dict[str, Any]) -> int:
    """Draw a small picture of a plan."""
    picture = io.BytesIO()
    draw(plan).save(picture, "PNG")
    ctx.artifact("thumbnail.png", picture.getvalue())
    return len(picture.getvalue())


@app.schedule("*/5 * * * *")
@app.task(name="reconcile_orphan_jobs", queue="files")
def reconcile_orphan_jobs() -> dict[str, list[int]]:
    """Fail RUNNING jobs without a heartbeat, and PENDING jobs that nobody starts.

    Every worker does so by itself, once a minute; this finds what it has left.
    """
    orphan_threshold = timedelta(minutes=2)
    with session_on(app.url) as session:
        now = session.exec(select(func.now())).one()
        running_orphans = session.exec(
            select(Job).where(
                Job.status == JobStatus.RUNNING,
                or_(
                    Job.last_heartbeat_at.is_(None),  # a job from before there were heartbeats
                    Job.last_heartbeat_at < (now - orphan_threshold),
                ),
                Job.started_at < (now - orphan_threshold),  # never a job that has just started
            )
        ).all()
        for job in running_orphans:
            job.status = JobStatus.FAILED
            job.error_message = ORPHAN_MESSAGE
            job.completed_at = now
        session.commit()
        running = [job.id for job in running_orphans if job.status is JobStatus.FAILED]
    pending = app.store.recover(
        pending_after=app.settings.pending_orphan_after, message=ORPHAN_MESSAGE
    )
    return {"running": running, "pending": list(pending.stale)}


@app.task(name="hold_job", queue="solver")
def hold(seconds: float) -> float:
    """Hold the interpreter's lock: a heartbeat in a thread of this process would not be sent."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        sum(range(100_000))
    return seconds
