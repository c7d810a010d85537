"""Set up tracing in every process of a worker, as a program that instruments others does."""

import atexit
import json
import os
from collections.abc import Sequence
from pathlib import Path

from opentelemetry import baggage, trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult


def told(span: ReadableSpan) -> dict[str, object]:
    assert span.context is not None
    return {
        "name": span.name,
        "kind": span.kind.name.lower(),
        "trace": f"{span.context.trace_id:032x}",
        "id": f"{span.context.span_id:016x}",
        "parent": f"{span.parent.span_id:016x}" if span.parent else None,
        "links": [f"{link.context.span_id:016x}" for link in span.links],
        "facts": dict(span.attributes or {}),
        "events": [[event.name, dict(event.attributes or {})] for event in span.events],
        "status": span.status.status_code.name.lower(),
        "description": span.status.description,
        "pid": os.getpid(),
    }


class ToFile(SpanExporter):
    """A file for each process."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        folder = Path(os.environ["TENURE_TEST_FOLDER"])
        with (folder / f"spans-{os.getpid()}.jsonl").open("a") as file:
            file.writelines(f"{json.dumps(told(span))}\n" for span in spans)
        return SpanExportResult.SUCCESS


class ShowBaggage(SpanProcessor):
    """Each span has the baggage of its context as attributes."""

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        for name, value in baggage.get_all(parent_context).items():
            span.set_attribute(name, str(value))


if "TENURE_TEST_TRACED" in os.environ:
    _provider = TracerProvider()
    _provider.add_span_processor(ShowBaggage())
    _provider.add_span_processor(BatchSpanProcessor(ToFile(), schedule_delay_millis=60_000))
    trace.set_tracer_provider(_provider)
    atexit.register(_provider.shutdown)
