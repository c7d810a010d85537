"""Examples for the API description, derived from the models.

A field shows the value listed here for ``Model.field`` or ``field``, else its default, else a plain
value of its type.
"""

from typing import Any

import msgspec
from msgspec import inspect

from tenure.web import models

WHEN = "2030-01-01T12:00:00Z"
_WORKER = "0b5f3d6e-8f0f-4d5e-9d3e-2f7c1a9b4c11"
_RUNNER = "runner-0b5f3d6e-1"
_FILTER = {"queue": "crawl"}
_SPEC = {"filter": _FILTER, "when": {"waiting": "2h"}, "intent": "cancel"}

FIELDS: dict[str, Any] = {
    "id": 42,
    "job_id": 42,
    "root_id": 42,
    "worker_id": _WORKER,
    "runner": _RUNNER,
    "task": "jobs.crawl",
    "queue": "crawl",
    "host": "host-1",
    "pid": 4711,
    "owner": "ada",
    "actor": "ada",
    "asked_by": "ada",
    "initiated_by": "ada",
    "created_by": "ada",
    "created": True,
    "tenant": "default",
    "reason": "customer left",
    "by_status": {"queued": 3, "running": 2},
    "oldest_seconds": 1.5,
    "via": "rest",
    "step_seconds": 900.0,
    "completed": 120,
    "wait_p50": 0.012,
    "wait_p95": 1.4,
    "run_p50": 2.1,
    "run_p95": 17.5,
    "filter": _FILTER,
    "cancellation_id": "cancel-000001",
    "tasks_cancelled": [43],
    "tasks_completed": [44],
    "runners_terminated": [_RUNNER],
    "slots_released": ["trees/oak"],
    "artifacts_preserved": ["42/report.csv"],
    "partials_preserved": 3,
    "duration_seconds": 1.25,
    "Job.status": "running",
    "Job.state": "running",
    "Job.target": "site:example.org",
    "Job.attempt": 1,
    "Job.max_attempts": 4,
    "Job.max_retries": 3,
    "Job.lease_owner": _WORKER,
    "Job.started_at": WHEN,
    "Job.heartbeat_at": WHEN,
    "Job.last_heartbeat_at": WHEN,
    "Job.lease_expires_at": "2030-01-01T12:00:15Z",
    "Job.cancellation_id": None,
    "Job.progress": {"done": 12, "total": 100},
    "Job.args": {"site": "example.org", "pages": 100},
    "Explanation.status": "blocked",
    "ExplainedReason.reason": "target",
    "ExplainedReason.sentence": "its target site:example.org is held by job 41",
    "ExplainedReason.about": "41",
    "CancellationResult.success": True,
    "CancellationResult.status": "completed",
    "CancellationResult.job_became": "cancelled",
    "CancellationResult.attempts_ended": {"asked": 0, "interrupted": 1},
    "CancellationRecord.cascade": True,
    "CancellationRecord.grace": 10.0,
    "CancellationRecord.last_rung": "killed",
    "CancellationRecord.status": "stopping_runners",
    "CancellationRecord.tasks_open": [43],
    "CancellationMember.was": "running",
    "CancellationMember.became": "cancelled",
    "CancellationMember.rung": "interrupted",
    "CancellationMember.ended_at": WHEN,
    "CancellationMember.pids": [4711, 4712],
    "CancellationMember.processes": 2,
    "CancellationMember.reached": {"delivered": WHEN, "asked": WHEN, "interrupted": WHEN},
    "CancellationProgress.status": "stopping_runners",
    "CancellationStep.step_name": "terminate_runners",
    "CancellationStep.status": "in_progress",
    "CancellationStep.started_at": WHEN,
    "Inspection.answered_at": WHEN,
    "Stack.name": "its function",
    "Frame.file": "/srv/shop/jobs.py",
    "Frame.line": 31,
    "Frame.function": "crawl",
    "Frame.code": "page = fetch(url)",
    "Process.name": "python3",
    "Process.state": "sleeping",
    "Process.cpu_seconds": 12.5,
    "Process.memory": 48234496,
    "Partial.value": {"url": "https://example.org/"},
    "LogEntry.level": "info",
    "LogEntry.line": "12 pages",
    "ArtifactInfo.name": "report.csv",
    "ArtifactInfo.url": "s3://artifacts/default/42/report.csv",
    "ArtifactInfo.size": 1024,
    "QueueInfo.name": "crawl",
    "WorkerInfo.id": _WORKER,
    "JobRunner.jobs": [42],
    "RunnerEnding.jobs": [42],
    "Target.name": "site:example.org",
    "Target.holder": 41,
    "Target.line": 3,
    "Target.next": 42,
    "Pool.name": "trees",
    "Slot.name": "oak",
    "JobRunner.kind": "process",
    "AuditRow.verb": "cancel",
    "AuditRow.subject": "job",
    "AuditRow.name": "42",
    "AuditRow.after": {"cancellation_id": "cancel-000001"},
    "Strategy.name": "gentle",
    "Strategy.options": {"grace": 10.0, "cascade": False},
    "Token.name": "ada",
    "Token.role": "operator",
    "Token.expires_at": "2030-01-31T12:00:00Z",
    "NewToken.secret": "tenure_...",
    "TenantSeen.name": "acme",
    "TenantSeen.schema": "tenure_acme",
    "Statistics.total": 5,
    "BulkPreview.total": 5,
    "BulkPreview.reaches": 5,
    "BulkPreview.running": 2,
    "Bulk.total": 11,
    "Bulk.done": 11,
    "Bulk.status": "completed",
    "Bulk.ended_at": WHEN,
    "Policy.name": "stale",
    "Policy.spec": _SPEC,
    "Policy.enabled": True,
    "KnownTask.name": "jobs.crawl",
    "KnownTask.executor": "async",
    "KnownTask.doc": "Crawl a site.",
    "KnownTask.target": "site:{site}",
    "KnownTask.schema": {"type": "object", "properties": {"site": {"type": "string"}}},
    "Paused.paused": True,
    "Cleared.cleared": [42],
    "Dropped.dropped": "gentle",
    "RollbackJob.job": 50,
}

BODIES: dict[Any, Any] = {
    models.StopBody: {"reason": "customer left", "force": False, "grace": "10s"},
    models.InspectBody: {"wait": "5s"},
    models.ResumeBody: {"fresh": False},
    models.ReasonBody: {"reason": "new host"},
    models.RollbackBody: {"tasks": [43, 44]},
    models.PoolBody: {"name": "trees", "slots": ["oak", "elm"]},
    models.SlotsBody: {"add": ["ash"], "remove": ["elm"]},
    models.EndRunnerBody: {"reason": "it leaks", "grace": "20s"},
    models.TenantBody: {"name": "acme"},
    models.TokenBody: {"name": "ada", "role": "operator", "lifetime": "30d"},
    models.StopFields: {"grace": "10s", "cascade": False},
    models.BulkPreviewBody: {"filter": _FILTER},
    models.BulkBody: {"filter": _FILTER, "reason": "wrong site"},
    models.PolicyBody: _SPEC,
    models.NewJobs: {
        "task": "jobs.crawl",
        "args": {"site": "example.org", "pages": 100},
        "priority": 5,
        "delay": "10s",
    },
}


def example_of(model: Any) -> Any:
    """Return an example of a struct, or of a list of structs."""
    return _example(inspect.type_info(model))


def body_example(model: Any) -> dict[str, Any]:
    """Return the example of a request body as a part of its description, if there is one."""
    return {"example": BODIES[model]} if model in BODIES else {}


def _example(info: inspect.Type) -> Any:
    match info:
        case inspect.StructType(cls=model, fields=fields):
            return {field.encode_name: _field(model.__name__, field) for field in fields}
        case inspect.UnionType(includes_none=False, types=types):
            return _example(types[0])
        case (
            inspect.VarTupleType(item_type=inspect.StructType() as item)
            | inspect.ListType(item_type=inspect.StructType() as item)
        ):
            return [_example(item)]
        case inspect.DictType(value_type=inspect.StructType() as item):
            return {"crawl": _example(item)}
        case inspect.EnumType(cls=kind):
            return next(iter(kind)).value
        case inspect.LiteralType(values=values):
            return values[0]
        case _:
            return _PLAIN.get(type(info))


def _field(model: str, field: inspect.Field) -> Any:
    for name in (f"{model}.{field.name}", field.name):
        if name in FIELDS:
            return FIELDS[name]
    if isinstance(field.type, inspect.VarTupleType):
        return _example(field.type)
    if field.default is not msgspec.NODEFAULT:
        return msgspec.to_builtins(field.default)
    if field.default_factory is not msgspec.NODEFAULT:
        return msgspec.to_builtins(field.default_factory())
    return _example(field.type)


_PLAIN: dict[type[inspect.Type], Any] = {
    inspect.DateTimeType: WHEN,
    inspect.UUIDType: _WORKER,
    inspect.IntType: 0,
    inspect.FloatType: 0.0,
    inspect.BoolType: False,
    inspect.StrType: "",
    inspect.VarTupleType: [],
    inspect.ListType: [],
    inspect.DictType: {},
}
