"""Spans across enqueue, run and stop, in programs that trace.

Nothing is imported for it: a program that has set up opentelemetry has imported it already, and
where nobody has, there is nobody to tell. The context of the span that enqueued a job travels in
the job's options, under "trace", as a traceparent. What a job was called with is never told.
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
    """A span of opentelemetry, or nothing at all; used with ``with``, or ended by hand."""

    def __init__(self, api: Any = None, span: Any = None) -> None:
        self._api = api
        self._span = span

    @property
    def traceparent(self) -> str | None:
        """Its context, for others to go on from."""
        if self._span is None:
            return None
        context = self._span.get_span_context()
        if not context.is_valid:
            return None
        return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"

    def carried(self, options: Mapping[str, JSON] | None) -> Mapping[str, JSON] | None:
        """The options of a job that is enqueued in this span."""
        trace = self.traceparent
        return options if trace is None else {**(options or {}), TRACE: trace}

    def tell(self, **facts: Any) -> None:
        if self._span is not None:
            self._span.set_attributes(_named(facts))

    def happened(self, what: str, at: int | None = None, **facts: Any) -> None:
        """An event; ``at`` in nanoseconds since 1970, else now."""
        if self._span is not None:
            self._span.add_event(what, _named(facts), at)

    def enter(self) -> Self:
        """Spans that begin from here on, in this context, are below it."""
        if self._span is not None:
            sys.modules["opentelemetry.context"].attach(self._api.set_span_in_context(self._span))
        return self

    def end(self, error: str | None = None) -> None:
        """``error`` is the type of what went wrong: its message may say what nobody should read."""
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
    """Whether somebody may be tracing in this process; asked before anything else is prepared."""
    return "opentelemetry.trace" in sys.modules


def begin(
    name: str,
    kind: Literal["producer", "consumer", "client", "internal"],
    *,
    parent: object = None,
    link: object = None,
    **facts: Any,
) -> Span:
    """A span below ``parent``, a traceparent, else below the one that is current.

    One that leads elsewhere has ``link``, a traceparent too.
    """
    api: Any = sys.modules.get("opentelemetry.trace")
    provider = api.get_tracer_provider() if hasattr(api, "get_tracer_provider") else None
    if provider is None or isinstance(provider, api.ProxyTracerProvider):
        return NOTHING  # nobody has said where spans go
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
    """The span in which jobs are enqueued; their own begin below it."""
    if not is_on():
        return NOTHING
    first, n = jobs[0], len(jobs)
    facts = {"task": first.task, "queue": first.queue, "tenant": tenant}
    return begin(f"enqueue {first.task}", "producer", **facts, jobs=n if n > 1 else None)


def stopping(job: int, intent: str, trace: object) -> Span:
    """The span of a request to stop a job that was enqueued in another trace."""
    return begin(f"{intent} job", "client", link=trace, job=job) if is_on() else NOTHING


def flush() -> None:
    """Hand over what was not exported yet: this process is about to end, and asks nobody."""
    if is_on():
        provider = sys.modules["opentelemetry.trace"].get_tracer_provider()
        if hasattr(provider, "force_flush"):
            provider.force_flush(2000)


def _context(api: Any, traceparent: object) -> Any:
    """None for what is no traceparent: options are stored by whoever enqueues."""
    found = _TRACEPARENT.fullmatch(traceparent) if isinstance(traceparent, str) else None
    if found is None:
        return None
    trace, span, flags = (int(part, 16) for part in found.groups())
    context = api.SpanContext(trace, span, True, api.TraceFlags(flags))
    return context if context.is_valid else None


def _named(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {f"tenure.{name}": value for name, value in facts.items() if value is not None}
