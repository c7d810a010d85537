"""Shift schedules by a solver, demand from uploaded files, and thumbnails of the plans.

The solver is plain Python that holds a CPU for minutes. It runs in a process of its own, so nothing
it does delays a beat: its lease is kept by the keeper for as long as it takes.
"""

import csv
import io
import os
import time
from typing import Any

from ortools.sat.python import cp_model

from examples.schedule_planner.drawing import draw
from examples.schedule_planner.rota import Rota, Solution
from tenure import Context, Settings, Tenure
from tenure.config import PORTUGUESE_ORPHAN_MESSAGE

ORPHANS = {  # unless the environment says otherwise
    "TENURE_BEAT": "30s",
    "TENURE_LEASE": "2m",  # two minutes without a beat, and the job is an orphan
    "TENURE_ORPHAN_AFTER": "2m",  # also one that runs without a worker that we know
    "TENURE_RECOVER_EVERY": "1m",
    "TENURE_ON_ORPHAN": "fail",  # not tried again: somebody looks at it first
    "TENURE_ORPHAN_MESSAGE": PORTUGUESE_ORPHAN_MESSAGE,
}
app = Tenure(settings=Settings.from_environment({**ORPHANS, **os.environ}))


@app.task(name="generate_schedule_job", queue="solver", grace="20s", ask_for="10s")
def generate_schedule(ctx: Context, demand: list[list[int]], workers: int, within: float) -> Any:
    """The fairest rota for a demand per day and shift; stopped early, the best so far is kept."""
    rota = Rota(demand, workers)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = within
    solver.parameters.num_workers = 1
    watch = Progress(ctx, rota, within)
    status = solver.solve(rota.model, watch)
    ctx.raise_if_cancelled()
    if status == cp_model.INFEASIBLE:
        raise ValueError(f"{workers} people cannot meet this demand")
    plan = rota.plan(solver.value)
    ctx.artifact("plan.json", plan)
    return {"unfairness": plan["unfairness"], "optimal": status == cp_model.OPTIMAL, "plan": plan}


class Progress(cp_model.CpSolverSolutionCallback):
    """Every better solution is progress, and kept: a kill cannot take it back."""

    def __init__(self, ctx: Context, rota: Rota, within: float) -> None:
        super().__init__()
        self._ctx, self._rota, self._within, self._found = ctx, rota, within, 0

    def on_solution_callback(self) -> None:
        self._found += 1
        plan: Solution = self._rota.plan(self.value)
        self._ctx.emit(plan)
        self._ctx.save_checkpoint(best=plan["unfairness"])
        self._ctx.progress(self.wall_time, self._within, f"solution {self._found}")
        if self._ctx.cancelled:
            self.stop_search()


@app.task(name="extract_demand_job", queue="files", timeout="5m")
def extract_demand(ctx: Context, path: str) -> list[list[int]]:
    """The demand in a CSV file: a line per day, a column per shift."""
    with open(path, newline="") as file:  # noqa: PTH123
        rows = list(csv.reader(file))
    return [[int(cell) for cell in row] for row in ctx.track(rows)]


@app.task(name="generate_thumbnail_job", queue="files", executor="thread")
def generate_thumbnail(ctx: Context, plan: dict[str, Any]) -> int:
    """A small picture of a plan."""
    picture = io.BytesIO()
    draw(plan).save(picture, "PNG")
    ctx.artifact("thumbnail.png", picture.getvalue())
    return len(picture.getvalue())


@app.task(name="hold_job", queue="solver")
def hold(seconds: float) -> float:
    """Keeps the interpreter's lock: a heartbeat in a thread of this process would not be sent."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        sum(range(100_000))
    return seconds
