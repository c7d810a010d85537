"""Attempts that ended without a word of their code, for the integrations of the app.

The keeper imports no code of the app, so a runner of the same tenant tells them: one that is there,
or the next one to begin.
"""

from collections import defaultdict, deque

from tenure.runtime.keeper.runs.endings import CRASHED, OVER_MEMORY, OVER_TIME
from tenure.runtime.keeper.runs.run import Run
from tenure.runtime.keeper.runs.runner import Runner
from tenure.runtime.keeper.runs.runner_group import RunnerGroups
from tenure.runtime.messages import LostAttempt, ReportLost
from tenure.store.outcomes import Ending

_MAX_KEPT = 100  # of a tenant
_TYPES = (CRASHED, OVER_MEMORY, OVER_TIME)  # of errors that no code of a job raised


class LostAttempts:
    def __init__(self, groups: RunnerGroups) -> None:
        self._groups = groups
        self._kept: defaultdict[str, deque[LostAttempt]] = defaultdict(
            lambda: deque(maxlen=_MAX_KEPT)
        )

    def note(self, run: Run, ending: Ending | None) -> None:
        """Pass an attempt on if it failed and its code did not raise the error."""
        error = None if ending is None else ending.error
        if error is None or error.get("type") not in _TYPES:
            return
        job = run.job
        self._kept[run.tenant].append(
            LostAttempt(
                job.id,
                job.task,
                job.queue,
                job.attempt,
                job.max_attempts,
                job.owner,
                job.root_id,
                job.key,
                str(error["type"]),
                str(error.get("message", "")),
            )
        )
        runners = [
            runner
            for (tenant, _), group in self._groups.items()
            for runner in group.runners
            if tenant == run.tenant and not runner.retired
        ]
        if runners:
            self.tell(min(runners, key=lambda runner: len(runner.runs)))

    def tell(self, runner: Runner) -> None:
        """Let a runner report what is kept for its tenant."""
        if runner.tenant is not None and (kept := self._kept.pop(runner.tenant, None)):
            runner.send(ReportLost(tuple(kept)))
