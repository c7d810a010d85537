"""The history of ended jobs, a part of the overview.

It is the same for all users, so it is queried and drawn once in a few seconds, and not sent again
to a page that already has it.
"""

import hashlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta

import msgspec
from markupsafe import Markup
from starlette.requests import Request

from tenure.domain.duration import duration
from tenure.domain.tenant import Tenant
from tenure.errors import InputRefused
from tenure.store.calls import queries
from tenure.store.rollups import EndCounts, History
from tenure.web.authentication import caller_of
from tenure.web.dashboard.charts import charts, hours, span_of
from tenure.web.dashboard.rendering import render_part

SPANS = {"1h": "hour", "6h": "6 hours", "24h": "24 hours"}
_LONGEST = "24h"
HISTORIES = "tenure.histories"
FRESH_FOR = 5.0  # seconds
BEHIND = timedelta(minutes=10)  # older than this, jobs are not counted directly
MAX_QUEUES = 50
_MAX_CACHED = 100  # histories

Ask = Callable[[], Awaitable[History]]
Draw = Callable[["Drawn"], str]


@dataclass
class Drawn:
    """A history, ready to be shown."""

    history: History
    span: str
    queue: str | None
    texts: dict[str, Markup] = field(default_factory=dict)  # by the root path of the app

    def __post_init__(self) -> None:
        self.charts = charts(self.history)
        self.hours = hours(self.history)
        self.rows = [
            (span_of(self.history, bucket), bucket)
            for bucket in reversed(self.history.buckets)
            if _ended(bucket)
        ]
        self.queues = sorted(
            sorted(self.history.queues, key=_ended, reverse=True)[:MAX_QUEUES],
            key=lambda ends: ends.queue,
        )
        self.behind = self.history.until - BEHIND
        content = (self.history.total, self.history.buckets, self.history.queues, self.is_behind)
        self.mark = hashlib.sha256(
            msgspec.json.encode((self.span, self.queue, content))
        ).hexdigest()[:16]

    @property
    def is_behind(self) -> bool:
        """Return whether some time is neither rolled up nor counted directly."""
        counted = self.history.counted_until
        return counted is not None and self.history.since < counted < self.behind

    @property
    def shortest_span(self) -> str:
        """Return the shortest span that shows every job of this history."""
        first = next((bucket.at for bucket in self.history.buckets if _ended(bucket)), None)
        if first is None:
            return _LONGEST
        return next(
            (span for span in SPANS if first >= self.history.until - duration(span)), _LONGEST
        )

    def text(self, root: str, draw: Draw) -> Markup:
        if root not in self.texts:
            self.texts[root] = Markup(draw(self))  # noqa: S704 - a template of ours, escaped
        return self.texts[root]


class Histories:
    """A cache of the histories that were shown in the last seconds."""

    def __init__(self) -> None:
        self._cached: dict[tuple[Tenant, str, str | None], _Cached] = {}

    async def drawn(self, tenant: Tenant, span: str, queue: str | None, ask: Ask) -> Drawn:
        cached = self._cached.setdefault((tenant, span, queue), _Cached())
        while len(self._cached) > _MAX_CACHED:
            self._cached.pop(next(iter(self._cached)))
        now = time.monotonic()
        if cached.drawn is None or now >= cached.asked_at + FRESH_FOR:
            cached.asked_at = now  # requests in the meantime get the old one
            fresh = Drawn(await ask(), span, queue)
            if cached.drawn is None or fresh.mark != cached.drawn.mark:
                cached.drawn = fresh
        return cached.drawn


@dataclass
class _Cached:
    drawn: Drawn | None = None
    asked_at: float = 0.0


async def history(request: Request) -> Markup:
    """Return the history as HTML, or a marker if the page already has this version."""
    wanted, queue = request.query_params.get("span"), request.query_params.get("queue") or None
    if wanted is not None and wanted not in SPANS:
        raise InputRefused(f"span: must be one of {', '.join(SPANS)}")
    caller = caller_of(request)
    histories: Histories = request.scope[HISTORIES]

    async def drawn_for(span: str) -> Drawn:
        async def ask() -> History:
            return await caller.asend(queries.history(duration(span), queue=queue))

        return await histories.drawn(caller.principal.tenant, span, queue, ask)

    drawn = await drawn_for(wanted or _LONGEST)
    if wanted is None and (shorter := drawn.shortest_span) != _LONGEST:
        drawn = await drawn_for(shorter)
    if drawn.mark in request.headers.get("x-have", ""):
        return Markup('<section data-key="history" data-same></section>')
    root = request.scope.get("root_path", "")
    return drawn.text(
        root, lambda drawn: render_part(request, "history.html", drawn=drawn, spans=SPANS)
    )


def _ended(ends: EndCounts) -> int:
    return ends.completed + ends.failed + ends.cancelled
