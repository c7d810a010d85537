"""Spans across enqueue, run and stop, in programs that trace.

opentelemetry is never imported here: a program that has set it up has imported it already. The
context of the span that enqueued a job travels in the options of the job, under "trace", as a
traceparent. Arguments of a job are never in a span.
"""

import re
import sys
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, Self

from tenure.domain.job import JSON, NewJob

TRACE = "trace"  # the option of a job
_TRACEPARENT = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")


class Span:
    """A span of opentelemetry, or a no-op; used with ``with``, or ended by ``end``."""

    def __init__(self, api: Any = None, span: Any = None) -> None:
        self._api = api
        self._span = span

    @property
    def traceparent(self) -> str | None:
        """Return its context, for spans below it."""
        if self._span is None:
            return None
        context = self._span.get_span_context()
        if not context.is_valid:
            return None
        return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"

    def carried(self, options: Mapping[str, JSON] | None) -> Mapping[str, JSON] | None:
        """Return the options of a job that is enqueued in this span."""
        trace = self.traceparent
        return options if trace is None else {**(options or {}), TRACE: trace}

    def tell(self, **facts: Any) -> None:
        if self._span is not None:
            self._span.set_attributes(_named(facts))

    def happened(self, what: str, at: int | None = None, **facts: Any) -> None:
        """Add an event; ``at`` is in nanoseconds since 1970, else now."""
        if self._span is not None:
            self._span.add_event(what, _named(facts), at)

    def enter(self) -> Self:
        """Make it the parent of the spans that begin from here on, in this context."""
        if self._span is not None:
            sys.modules["opentelemetry.context"].attach(self._api.set_span_in_context(self._span))
        return self

    def end(self, error: str | None = None) -> None:
        """End it; ``error`` is the type of an error, whose message may contain secrets."""
        if self._span is None:
            return
        if error is not None:
            self._span.set_attribute("error.type", error)
            self._span.set_status(self._api.Status(self._api.StatusCode.ERROR, error))
        self._span.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.end(None if kind is None else kind.__qualname__)


NOTHING = Span()


def is_on() -> bool:
    """Tell whether this process may be tracing; checked before anything is prepared."""
    return "opentelemetry.trace" in sys.modules


def begin(
    name: str,
    kind: Literal["producer", "consumer", "client", "internal"],
    *,
    parent: object = None,
    link: object = None,
    **facts: Any,
) -> Span:
    """Begin a span below ``parent``, a traceparent, else below the current span.

    ``link`` is the traceparent of a span in another trace.
    """
    api: Any = sys.modules.get("opentelemetry.trace")
    provider = api.get_tracer_provider() if hasattr(api, "get_tracer_provider") else None
    if provider is None or isinstance(provider, api.ProxyTracerProvider):
        return NOTHING  # no exporter is set up
    above, beside = _context(api, parent), _context(api, link)
    span = provider.get_tracer("tenure").start_span(
        name,
        None if above is None else api.set_span_in_context(api.NonRecordingSpan(above)),
        api.SpanKind[kind.upper()],
        {"messaging.system": "tenure", **_named(facts)},
        [] if beside is None else [api.Link(beside)],
    )
    return Span(api, span)


def enqueueing(jobs: Sequence[NewJob], tenant: str | None = None) -> Span:
    """Begin the span in which jobs are enqueued; those of their runs are below it."""
    if not is_on():
        return NOTHING
    first, n = jobs[0], len(jobs)
    facts = {"task": first.task, "queue": first.queue, "tenant": tenant}
    return begin(f"enqueue {first.task}", "producer", **facts, jobs=n if n > 1 else None)


def stopping(job: int, intent: str, trace: object) -> Span:
    """Begin the span of a request to stop a job, with a link to the trace of its enqueue."""
    return begin(f"{intent} job", "client", link=trace, job=job) if is_on() else NOTHING


def flush() -> None:
    """Export the remaining spans before this process is killed."""
    if is_on():
        provider = sys.modules["opentelemetry.trace"].get_tracer_provider()
        if hasattr(provider, "force_flush"):
            provider.force_flush(2000)


def _context(api: Any, traceparent: object) -> Any:
    """Read a traceparent; None for anything else that a producer stored."""
    found = _TRACEPARENT.fullmatch(traceparent) if isinstance(traceparent, str) else None
    if found is None:
        return None
    trace, span, flags = (int(part, 16) for part in found.groups())
    context = api.SpanContext(trace, span, True, api.TraceFlags(flags))
    return context if context.is_valid else None


def _named(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {f"tenure.{name}": value for name, value in facts.items() if value is not None}
