"""The numbers of jobs by status, for the tabs above the list of jobs.

They are the same for all users of a tenant. The longer counting takes, the longer its result is
used again; a search whose jobs take too long to count has no numbers for a while.
"""

import time
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import msgspec

from tenure.control.authorized_client import AuthorizedClient
from tenure.domain.lifecycle import Status
from tenure.domain.tenant import Tenant
from tenure.errors import QueryTimeout
from tenure.store.calls import queries

COUNTS = "tenure.status_counts"
LIMIT = 1000  # jobs that are counted in each status
_WITHIN = timedelta(milliseconds=500)
_SHARE = 50  # a result is used for so many times the time that counting took
_GIVEN_UP_FOR = 10.0  # seconds
_MAX_CACHED = 200  # searches

Counts = Mapping[str, int]


class StatusCounts:
    """A cache of the counts that were shown in the last seconds."""

    def __init__(self) -> None:
        self._cached: dict[tuple[Tenant, bytes], tuple[Counts, float]] = {}

    async def of(
        self, caller: AuthorizedClient, given: Mapping[str, Any], filters: Mapping[str, Any]
    ) -> Counts:
        """Count the jobs of these filters; ``given`` is what the user wrote, such as since=2h."""
        if "text" in given:
            return {}  # it would be searched for in the arguments of every job
        others = {name: value for name, value in given.items() if name != "status"}
        key = (caller.principal.tenant, msgspec.json.encode(others))
        counts, until = self._cached.get(key, ({}, 0.0))
        now = time.monotonic()
        if now < until:
            return counts
        # Requests in the meantime get the old ones.
        self._cached[key] = counts, now + _WITHIN.total_seconds()
        while len(self._cached) > _MAX_CACHED:
            self._cached.pop(next(iter(self._cached)))
        call = queries.status_counts(filters, list(map(str, Status)), LIMIT)
        try:
            counts = await caller.asend(call.within(_WITHIN))
            fresh_for = _SHARE * (time.monotonic() - now)
        except QueryTimeout:
            counts, fresh_for = {}, _GIVEN_UP_FOR
        self._cached[key] = counts, time.monotonic() + fresh_for
        return counts
