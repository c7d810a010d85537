"""Endings that the database refuses to write: a user's constraint or trigger is in the way."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from tenure.domain.tenant import Tenant
from tenure.errors import WriteRefused
from tenure.runtime.keeper.database.access import DatabaseAccess
from tenure.store.calls import control_calls
from tenure.store.outcomes import Ending

_log = logging.getLogger("tenure.worker")

_TRIES = 6  # before the records of its stops are closed as failed
_FIRST = 0.1  # seconds to the second try; each pause is twice the one before
_LATER = 5.0  # seconds between two tries after that, for as long as the worker lives


@dataclass(eq=False)
class UnwrittenEndings:
    worker: UUID
    tenant: Tenant
    database: DatabaseAccess

    def __post_init__(self) -> None:
        self._tries: dict[tuple[int, int], int] = {}  # by job and token

    def pause(self, ending: Ending, problem: WriteRefused) -> float:
        """Count a try, and return the seconds to the next; after the last, fail the records."""
        place = (ending.job, ending.token)
        tries = self._tries[place] = self._tries.get(place, 0) + 1
        about = {"tenant": self.tenant.name, "job": ending.job}
        if tries < _TRIES:
            _log.warning("the end of job %d is not written: %s", ending.job, problem, extra=about)
            return _FIRST * 2.0 ** (tries - 1)
        if tries == _TRIES:
            _log.critical(
                "the end of job %d could not be written after %d tries: %s; its stops are failed. "
                "Remove what is in the way, and stop it again",
                *(ending.job, tries, problem),
                extra=about,
            )
            call = control_calls.fail_records(self.worker, *place, str(problem))
            self.database.retry_in_background(call, self.tenant.name)
        return _LATER

    def is_given_up(self, ending: Ending) -> bool:
        return self._tries.get((ending.job, ending.token), 0) >= _TRIES

    def forget(self, endings: Iterable[Ending]) -> None:
        """Note that the database has written these."""
        if not self._tries:
            return
        for ending in endings:
            self._tries.pop((ending.job, ending.token), None)
