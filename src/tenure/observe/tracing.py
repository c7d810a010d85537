"""Spans across enqueue, run and stop, in programs that trace.

They follow the semantic conventions for messaging. opentelemetry is imported only in programs that
have imported it before, to set it up. The context of the span that enqueued a job travels in the
options of the job, under "trace": a traceparent, and the baggage behind a semicolon. Arguments of a
job are never in a span.
"""

import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

from tenure.domain.job import JSON, NewJob
from tenure.observe.messaging_metrics import Measure

TRACE = "trace"  # the option of a job
_CONTEXT = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:;([!-~ ]*))?")
_MAX_BAGGAGE = 4096  # characters; a larger one is not carried
_OPERATIONS = {"producer": "send", "consumer": "process"}
_CONVENTIONAL = {
    "job": "messaging.message.id",
    "jobs": "messaging.batch.message_count",
    "queue": "messaging.destination.name",
    "worker": "messaging.client.id",
}


class Span:
    """A span of opentelemetry, or a no-op; used with ``with``, or ended by ``end``."""

    def __init__(
        self, api: Any = None, span: Any = None, above: Any = None, measure: Measure | None = None
    ) -> None:
        self._api = api
        self._span = span
        self._above = above  # the context that it began in; None: the current one
        self._measure = measure

    @property
    def trace(self) -> str | None:
        """Return its context and the current baggage, for spans below it in other processes."""
        if self._span is None:
            return None
        context = self._span.get_span_context()
        if not context.is_valid:
            return None
        parent = f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"
        carrier: dict[str, str] = {}
        _baggage().inject(carrier)
        baggage = carrier.get("baggage", "")
        return f"{parent};{baggage}" if 0 < len(baggage) <= _MAX_BAGGAGE else parent

    def carried(self, options: Mapping[str, JSON] | None) -> Mapping[str, JSON] | None:
        """Return the options of a job that is enqueued in this span."""
        trace = self.trace
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
            context = self._api.set_span_in_context(self._span, self._above)
            sys.modules["opentelemetry.context"].attach(context)
        return self

    def end(self, error: str | None = None) -> None:
        """End it; ``error`` is the type of an error, whose message may contain secrets."""
        if self._measure is not None:
            self._measure.end(error)
        if self._span is None:
            return
        if error is not None:
            self._span.set_attribute("error.type", error)
            self._span.set_status(self._api.Status(self._api.StatusCode.ERROR, error))
        self._span.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
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
    """Begin a span below ``parent``, the "trace" of a job, else below the current span.

    ``link`` is the "trace" to which the span has a link.
    """
    attributes = {"messaging.system": "tenure", **_named(facts)}
    if kind in _OPERATIONS:
        attributes["messaging.operation.name"] = name.partition(" ")[0]
        attributes["messaging.operation.type"] = _OPERATIONS[kind]
    measure = Measure.begin(attributes) if kind in _OPERATIONS else None
    api: Any = sys.modules.get("opentelemetry.trace")
    provider = api.get_tracer_provider() if hasattr(api, "get_tracer_provider") else None
    if provider is None or isinstance(provider, api.ProxyTracerProvider):
        return NOTHING if measure is None else Span(measure=measure)  # no exporter is set up
    above, beside = _context(api, parent), _context(api, link)
    context = None
    if above is not None:
        context = api.set_span_in_context(api.NonRecordingSpan(above), _baggage_of(str(parent)))
    span = provider.get_tracer("tenure").start_span(
        name,
        context,
        api.SpanKind[kind.upper()],
        attributes,
        [] if beside is None else [api.Link(beside)],
    )
    return Span(api, span, context, measure)


def enqueueing(jobs: Sequence[NewJob], tenant: str | None = None) -> Span:
    """Begin the span in which jobs are enqueued; those of their runs are below it."""
    if not is_on():
        return NOTHING
    first, n = jobs[0], len(jobs)
    facts = {"task": first.task, "queue": first.queue, "tenant": tenant}
    return begin(f"enqueue {first.task}", "producer", **facts, jobs=n if n > 1 else None)


def stopping(job: int, intent: str, trace: object) -> Span:
    """Begin the span of a request to stop a job, with a link to the trace of its enqueue."""
    if not is_on() or not isinstance(job, int) or job.bit_length() > 63:  # no job has this id
        return NOTHING
    return begin(f"{intent} job", "client", link=trace, job=job)


def flush() -> None:
    """Export the remaining spans before this process is killed."""
    if is_on():
        provider = sys.modules["opentelemetry.trace"].get_tracer_provider()
        if hasattr(provider, "force_flush"):
            provider.force_flush(2000)


def _context(api: Any, trace: object) -> Any:
    """Read the context of a span; None for anything else that a producer stored."""
    found = _CONTEXT.fullmatch(trace) if isinstance(trace, str) else None
    if found is None:
        return None
    trace, span, flags = (int(part, 16) for part in found.groups()[:3])
    context = api.SpanContext(trace, span, True, api.TraceFlags(flags))
    return context if context.is_valid else None


def _baggage_of(trace: str) -> Any:
    """Return a context with the baggage that came with a span, and nothing else."""
    from opentelemetry.context import Context

    return _baggage().extract({"baggage": trace.partition(";")[2]}, Context())


def _baggage() -> Any:
    from opentelemetry.baggage.propagation import W3CBaggagePropagator

    return W3CBaggagePropagator()


def _named(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of these facts: Tenure's own, and those of the conventions."""
    known = {name: value for name, value in facts.items() if value is not None}
    named = {_CONVENTIONAL[name]: known[name] for name in _CONVENTIONAL if name in known}
    if "job" in known:
        named[_CONVENTIONAL["job"]] = str(known["job"])
    return named | {f"tenure.{name}": value for name, value in known.items()}
