"""Requests of running jobs for grants of limits and for reservations of their budgets."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakValueDictionary

from tenure.errors import BudgetExceeded, InputRefused
from tenure.runtime.keeper.database.reports import Reports
from tenure.runtime.keeper.runs.run import Run
from tenure.runtime.messages import AttemptReport

_LEAST_WAIT = 0.005  # seconds between two requests for the same thing


@dataclass(eq=False)
class GrantRequests:
    """They ask again until they are granted.

    Jobs of this worker that wait for the same limit ask one after the other, in the order in which
    they came: only the first of them asks the database.
    """

    reports: Mapping[str, Reports]
    _lines: WeakValueDictionary[tuple[str, str], asyncio.Lock] = field(
        default_factory=WeakValueDictionary
    )

    async def grant(self, run: Run, request: Mapping[str, Any]) -> bool:
        """Wait for a grant; return False if the job ends first."""
        name = (run.tenant, str(request["limit"]))
        line = self._lines.setdefault(name, asyncio.Lock())
        async with line:
            return await self._until_granted(run, request)

    async def reserve(self, run: Run, request: Mapping[str, Any]) -> bool:
        """Wait for a reservation; return False if the job ends first."""
        return await self._until_granted(run, request)

    async def _until_granted(self, run: Run, request: Mapping[str, Any]) -> bool:
        number = request["number"]
        while not (run.has_ended or number in run.withdrawn):
            answer = await self.reports[run.tenant].ask(run, request)
            if answer.granted:
                if number in run.withdrawn and not run.has_ended:  # meanwhile: nobody holds it
                    late = AttemptReport(run.number, settled=(run.withdrawn[number],))
                    self.reports[run.tenant].add(run, late)
                return True
            if answer.refused is not None:
                raise InputRefused(answer.refused)
            if answer.exhausted is not None:
                raise BudgetExceeded(answer.exhausted)
            await run.ends_within(max(answer.wait, _LEAST_WAIT))
        return False
