"""Decide what becomes of the runs in a runner that died."""

import logging
from collections.abc import Sequence
from datetime import datetime

import msgspec

from tenure.runtime.guarding import Exit
from tenure.runtime.keeper.run import Run
from tenure.runtime.keeper.runners import Runner
from tenure.store.outcomes import Ending
from tenure.store.results import Claimed

_log = logging.getLogger("tenure.worker")


def culprit(runner: Runner, runs: Sequence[Run]) -> Run | None:
    """The run that was on the CPU when its runner died; with one run there is no doubt."""
    if len(runs) == 1:
        return runs[0]
    return runner.runs.get(runner.page.on_cpu)


def crash(run: Run, runner: Runner, how: Exit | None) -> Ending:
    """The charge against the run that was on the CPU."""
    error = {
        "type": "tenure.Crashed",
        "message": f"the process that ran it died: {how}",
        "runner": runner.name,
    }
    return Ending(job=run.job.id, token=run.job.token, error=error, runner=runner.name)


def guard_crash(run: Run, runner: Runner, _how: Exit | None) -> Ending:
    """The charge against a suspect for the death of the guard."""
    error = {
        "type": "tenure.Crashed",
        "message": "the worker's guard died while this job ran alone: all its runners were killed",
        "runner": runner.name,
    }
    return Ending(job=run.job.id, token=run.job.token, error=error, runner=runner.name)


def with_tree(ending: Ending | None, how: Exit | None) -> Ending | None:
    """An ending for which the runner had to end too, with the processes that are gone by it."""
    if ending is None or how is None or not how.gone or ending.outcome != "stopped":
        return ending
    return msgspec.structs.replace(ending, pids=how.gone, processes=how.count)


def give_back(run: Run, *, suspect: bool, guard: bool = False, displaced: bool = False) -> Ending:
    """Unspent. Under suspicion it runs alone next time, on whatever worker.

    One that is displaced loses its runner to the end of another job.

    A run whose code never began stays as suspect as it was.
    """
    unstarted = run.started_at is None
    suspect = suspect and not unstarted
    what = "the worker's guard" if guard else "the process that ran it"
    message = f"{what} died, and whose fault it was is not known: it runs alone next"
    return Ending(
        job=run.job.id,
        token=run.job.token,
        outcome="released",
        error={"type": "tenure.Suspect", "message": message} if suspect else None,
        suspect=suspect,
        displaced=displaced and not unstarted,
        unstarted=unstarted,
    )


def put_off(job: Claimed, run_at: datetime) -> Ending:
    """Give back a suspect that may not start yet: unspent, and a suspect still."""
    return Ending(job=job.id, token=job.token, outcome="released", run_at=run_at, unstarted=True)
