"""A program that traces: it enqueues and stops jobs in a request, and tells its spans."""

import json
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from opentelemetry import baggage, context, metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tenure.control.by_name import enqueued, job_of
from tenure.domain.tenant import DEFAULT
from tenure.errors import TenureError
from tests.apps.observed import app, calm, fails, hogs, sleeps, spawns, waits
from tests.observe.traced.sitecustomize import told

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
reader = InMemoryMetricReader()
metrics.set_meter_provider(MeterProvider([reader]))
folder = Path(sys.argv[1])


def starts(job: int) -> None:
    until = time.monotonic() + 30
    while not (folder / f"started-{job}").exists():
        assert time.monotonic() < until
        time.sleep(0.01)


jobs: dict[str, Any] = {}
context.attach(baggage.set_baggage("customer", "acme"))
with app, trace.get_tracer("shop").start_as_current_span("request"):
    jobs |= {
        "calm": calm.enqueue("the argument"),
        "fails": fails.enqueue("the message"),
        "spawns": spawns.enqueue("the argument"),
    }
    jobs |= {f"calm-{n}": job for n, job in enumerate(calm.enqueue_many([("a",), ("b",)]))}
    for job in jobs.values():
        job.wait("30s")
    [named] = app.perform(enqueued([job_of(app, calm.name, {"said": "by name"}, {})]), DEFAULT)
    stopped: list[tuple[str, Any, dict[str, Any]]] = [
        ("waits", waits, {}),
        ("sleeps", sleeps, {}),
        ("hogs", hogs, {"force": True}),
    ]
    for name, task, how in stopped:
        jobs[name] = task.enqueue()
        starts(jobs[name].id)
        jobs[name].cancel(reason="no more", by="ada", wait=True, timeout="30s", **how)
    with suppress(TenureError):
        app.handle(999).cancel()
ids = {name: job.id for name, job in jobs.items()} | {"named": named.id}
spans = [told(span) for span in exporter.get_finished_spans()]
data = reader.get_metrics_data()
assert data is not None
read = json.loads(data.to_json())
sys.stdout.write(json.dumps({"jobs": ids, "spans": spans, "metrics": read}))
