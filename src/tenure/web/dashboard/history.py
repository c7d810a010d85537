"""What ended in the last hours, as a part of the overview.

All who look at it see the same, and it need not be new four times a second: it is asked for and
drawn once in a few seconds, and a page that has it already is not sent it again.
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
from tenure.store.rollups import Ends, History
from tenure.web.authentication import caller_of
from tenure.web.dashboard.charts import charts, hours, span_of
from tenure.web.dashboard.rendering import render_part

SPANS = {"1h": "hour", "6h": "6 hours", "24h": "24 hours"}
HISTORIES = "tenure.histories"
FRESH_FOR = 5.0  # seconds
BEHIND = timedelta(minutes=10)  # what is older than this is not read from the jobs
MOST_QUEUES = 50
_MOST_KEPT = 100  # histories that somebody has looked at

Ask = Callable[[], Awaitable[History]]
Draw = Callable[["Drawn"], str]


@dataclass
class Drawn:
    """A history, ready to be shown."""

    history: History
    span: str
    queue: str | None
    texts: dict[str, Markup] = field(default_factory=dict)  # by the root of the page's addresses

    def __post_init__(self) -> None:
        self.charts = charts(self.history)
        self.hours = hours(self.history)
        self.rows = [
            (span_of(self.history, bucket), bucket)
            for bucket in reversed(self.history.buckets)
            if _ended(bucket)
        ]
        self.queues = sorted(
            sorted(self.history.queues, key=_ended, reverse=True)[:MOST_QUEUES],
            key=lambda one: one.queue,
        )
        self.behind = self.history.until - BEHIND
        told = (self.history.total, self.history.buckets, self.history.queues, self.is_behind)
        self.mark = hashlib.sha256(msgspec.json.encode((self.span, self.queue, told))).hexdigest()[
            :16
        ]

    @property
    def is_behind(self) -> bool:
        """Whether there is a time that is neither rolled up nor read from the jobs."""
        counted = self.history.counted_until
        return counted is not None and self.history.since < counted < self.behind

    def text(self, root: str, draw: Draw) -> Markup:
        if root not in self.texts:
            self.texts[root] = Markup(draw(self))  # noqa: S704 - a template of ours, escaped
        return self.texts[root]


class Histories:
    """Those that somebody looked at in the last seconds."""

    def __init__(self) -> None:
        self._kept: dict[tuple[Tenant, str, str | None], _Kept] = {}

    async def drawn(self, tenant: Tenant, span: str, queue: str | None, ask: Ask) -> Drawn:
        kept = self._kept.setdefault((tenant, span, queue), _Kept())
        while len(self._kept) > _MOST_KEPT:
            self._kept.pop(next(iter(self._kept)))
        now = time.monotonic()
        if kept.drawn is None or now >= kept.asked_at + FRESH_FOR:
            kept.asked_at = now  # whoever comes meanwhile makes do with the old one
            fresh = Drawn(await ask(), span, queue)
            if kept.drawn is None or fresh.mark != kept.drawn.mark:
                kept.drawn = fresh
        return kept.drawn


@dataclass
class _Kept:
    drawn: Drawn | None = None
    asked_at: float = 0.0


async def history(request: Request) -> Markup:
    """That part of the page, or a sign that it is as the page has it already."""
    span, queue = request.query_params.get("span", "24h"), request.query_params.get("queue") or None
    if span not in SPANS:
        raise InputRefused(f"span: it is one of {', '.join(SPANS)}")
    caller = caller_of(request)

    async def ask() -> History:
        return await caller.asend(queries.history(duration(span), queue=queue))

    histories: Histories = request.scope[HISTORIES]
    drawn = await histories.drawn(caller.principal.tenant, span, queue, ask)
    if drawn.mark in request.headers.get("x-have", ""):
        return Markup('<section data-key="history" data-same></section>')
    root = request.scope.get("root_path", "")
    return drawn.text(
        root, lambda drawn: render_part(request, "history.html", drawn=drawn, spans=SPANS)
    )


def _ended(ends: Ends) -> int:
    return ends.completed + ends.failed + ends.cancelled
