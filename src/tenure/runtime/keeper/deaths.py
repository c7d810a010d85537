"""What becomes of the runs in a runner that died."""

import logging
from collections.abc import Sequence

import msgspec

from tenure.runtime.guarding import Exit
from tenure.runtime.keeper.run import Run
from tenure.runtime.keeper.runners import Runner
from tenure.store.outcomes import Ending

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


def with_tree(ending: Ending | None, how: Exit | None) -> Ending | None:
    """An ending for which the runner had to end too, with the processes that are gone by it."""
    if ending is None or how is None or not how.gone or ending.outcome != "stopped":
        return ending
    return msgspec.structs.replace(ending, pids=how.gone, processes=how.count)


def give_back(run: Run, *, suspect: bool) -> Ending:
    """Unspent. Under suspicion it runs alone next time, on whatever worker."""
    return Ending(job=run.job.id, token=run.job.token, outcome="released", suspect=suspect)
