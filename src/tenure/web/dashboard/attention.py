"""The things that need a person, for the sidebar and the overview.

They are the same for all users of a tenant, so pages share what is read. The sidebar may be a few
seconds old. A page that shows them waits for a read that begins after its request, together with
all others that ask in the meantime. Reads follow one another with a pause, so that they take at
most half of one connection.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from starlette.requests import Request

from tenure.config import Settings
from tenure.control.authorized_client import AuthorizedClient
from tenure.control.checks import longest_stop
from tenure.domain.step import Question
from tenure.domain.tenant import Tenant
from tenure.domain.values import amount
from tenure.errors import TenureError
from tenure.store.calls import diagnosis, queries, step_calls
from tenure.store.diagnosis_results import Leak, OpenStop
from tenure.store.limit_results import DispatchPause
from tenure.store.totals import Totals
from tenure.web.authentication import caller_of

ATTENTIONS = "tenure.attentions"
HOME = "tenure.home"  # the caller in the tenant of their token
_SEEN = "tenure.attention"
_TENANTS = "tenure.tenants"
FRESH_FOR = 5.0  # seconds
_PAUSE = 1  # times as long as the read before
MAX_QUESTIONS = 50
_MAX_STOPS = 200
_MAX_LEAKS = 100
_MAX_TENANTS = 50  # in the switcher; all are on the page of tenants


@dataclass(frozen=True)
class StopRow:
    """A stop in progress."""

    stop: OpenStop
    late: float | None  # seconds since it should have ended; none: it has no limit

    @property
    def is_overdue(self) -> bool:
        return self.late is not None and self.late > 0


@dataclass(frozen=True)
class SidebarCount:
    """A number beside a page of the sidebar."""

    n: int
    tone: str
    text: str


@dataclass(frozen=True)
class Attention:
    totals: Totals
    stops: Sequence[StopRow]
    questions: Sequence[Question]
    leaks: Sequence[Leak]
    pauses: Sequence[DispatchPause]
    by_status: dict[str, int] = field(default_factory=dict)

    @property
    def overdue(self) -> int:
        return sum(stop.is_overdue for stop in self.stops)

    def paused(self, subject: str) -> dict[str, DispatchPause]:
        """Return the pauses of queues, of targets or of another subject by their names."""
        return {pause.name: pause for pause in self.pauses if pause.subject == subject}

    @cached_property
    def counts(self) -> dict[str, SidebarCount]:
        """Return the numbers of the sidebar by the path of their page; no zeros."""
        unrunnable = sum(task.jobs for task in self.totals.unrunnable)
        late = self.totals.workers.get("late", 0)
        stops, asked, left = len(self.stops), len(self.questions), len(self.leaks)
        counts = {
            "/tasks": SidebarCount(
                unrunnable, "bad", f"{amount(unrunnable, 'job')} cannot run on any worker"
            ),
            "/questions": SidebarCount(asked, "care", f"{amount(asked, 'question')} to answer"),
            "/stops": SidebarCount(
                stops, "bad" if self.overdue else "busy", f"{amount(stops, 'stop')} in progress"
            ),
            "/workers": SidebarCount(late, "bad", f"{amount(late, 'worker')} late"),
            "/leaks": SidebarCount(left, "bad", f"{amount(left, 'job')} left resources open"),
        }
        for subject in ("queue", "target", "schedule", "pool"):
            n = len(self.paused(subject))
            counts[f"/{subject}s"] = SidebarCount(n, "care", f"{amount(n, subject)} paused")
        return {path: count for path, count in counts.items() if count.n}


class Attentions:
    """A cache of what needs a person in each tenant."""

    def __init__(self) -> None:
        self._read: dict[Tenant, tuple[float, Attention]] = {}
        self._next: dict[tuple[Tenant, asyncio.AbstractEventLoop], asyncio.Task[Attention]] = {}
        self._turns: dict[tuple[Tenant, asyncio.AbstractEventLoop], asyncio.Lock] = {}
        self._not_before: dict[Tenant, float] = {}
        self._tenants: tuple[float, tuple[str, ...]] | None = None

    async def of(self, caller: AuthorizedClient, *, fresh: bool = False) -> Attention:
        tenant = caller.principal.tenant
        at, known = self._read.get(tenant, (0.0, None))
        if known is None or fresh or time.monotonic() > at + FRESH_FOR:
            key = tenant, asyncio.get_running_loop()
            if key not in self._next:
                self._next[key] = asyncio.create_task(self._read_next(caller))
            # Shielded: others wait for it when this viewer goes away.
            known = await asyncio.shield(self._next[key])
        return known

    async def _read_next(self, caller: AuthorizedClient) -> Attention:
        """Read when the last read and the pause after it are over."""
        tenant = caller.principal.tenant
        key = tenant, asyncio.get_running_loop()
        async with self._turns.setdefault(key, asyncio.Lock()):
            await asyncio.sleep(self._not_before.get(tenant, 0) - time.monotonic())
            del self._next[key]  # a later caller needs the read after this one
            began = time.monotonic()
            known = await read_attention(caller)
            ended = time.monotonic()
            self._not_before[tenant] = ended + _PAUSE * (ended - began)
            self._read[tenant] = ended, known
            return known

    def forget(self, tenant: Tenant) -> None:
        """Read again what a form has just changed."""
        self._read.pop(tenant, None)
        self._tenants = None

    async def tenants(self, caller: AuthorizedClient) -> tuple[str, ...]:
        """Return the tenants that a caller may open, if they are few enough for a list."""
        if not caller.principal.controls_tenants:
            return ()
        if self._tenants is None or time.monotonic() > self._tenants[0] + FRESH_FOR:
            found = tuple(tenant.name for tenant in await caller.asend(queries.tenants()))
            self._tenants = time.monotonic(), found if len(found) <= _MAX_TENANTS else ()
        return self._tenants[1]


async def attention_of(request: Request, *, fresh: bool = True) -> Attention:
    """Return what needs a person in the tenant of a request, read at most once for it."""
    if fresh or _SEEN not in request.scope:
        attentions: Attentions = request.scope[ATTENTIONS]
        request.scope[_SEEN] = await attentions.of(caller_of(request), fresh=fresh)
    found: Attention = request.scope[_SEEN]
    return found


async def read_counts(request: Request) -> None:
    """Read the numbers of the sidebar; without them, if they cannot be read."""
    attentions: Attentions = request.scope[ATTENTIONS]
    try:
        request.scope[_TENANTS] = await attentions.tenants(request.scope[HOME])
        await attention_of(request, fresh=False)
    except TenureError:
        return  # the page itself says what is wrong


def seen(request: Request) -> Attention | None:
    found: Attention | None = request.scope.get(_SEEN)
    return found


def seen_tenants(request: Request) -> tuple[str, ...]:
    found: tuple[str, ...] = request.scope.get(_TENANTS, ())
    return found


async def read_attention(caller: AuthorizedClient) -> Attention:
    settings = caller.client.settings
    totals, stops, questions, leaks, pauses = await asyncio.gather(
        caller.asend(queries.totals(settings.stop_grace)),
        caller.asend(diagnosis.stops(_MAX_STOPS)),
        caller.asend(step_calls.questions(n=MAX_QUESTIONS)),
        caller.asend(diagnosis.leaks(_MAX_LEAKS)),
        caller.asend(queries.pauses()),
    )
    by_status: dict[str, int] = defaultdict(int)
    for jobs in totals.jobs:
        by_status[jobs.status] += jobs.n
    return Attention(totals, stop_rows(stops, settings), questions, leaks, pauses, by_status)


def stop_rows(stops: Sequence[OpenStop], settings: Settings) -> list[StopRow]:
    """Return the stops in progress, the most overdue first."""
    notice = settings.beat.total_seconds() + 5  # a worker may hear of a stop by its heartbeat alone
    found = []
    for stop in stops:
        longest = longest_stop(stop, settings)
        late = None if longest is None else stop.seconds - longest.total_seconds() - notice
        found.append(StopRow(stop, late))
    return sorted(found, key=lambda row: -(row.late if row.late is not None else -1e9))
