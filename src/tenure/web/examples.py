"""Examples of what the API takes and gives."""

from typing import Any

WHEN = "2030-01-01T12:00:00Z"

NEW_JOB: dict[str, Any] = {
    "task": "jobs.crawl",
    "args": {"site": "example.org", "pages": 100},
    "priority": 5,
    "delay": "10s",
}

ENQUEUED: dict[str, Any] = {"id": 42, "created": True, "taken": None, "key": None}

JOB: dict[str, Any] = {
    "id": 42,
    "root_id": 42,
    "parent_id": None,
    "key": "crawl-example",
    "task": "jobs.crawl",
    "queue": "default",
    "status": "running",
    "state": "running",
    "waiting": None,
    "priority": 5,
    "target": "site:example.org",
    "run_at": None,
    "owner": "ada",
    "tags": ["web"],
    "attempt": 1,
    "max_attempts": 4,
    "retry_count": 0,
    "max_retries": 3,
    "crashes": 0,
    "worker_id": "0b5f3d6e-8f0f-4d5e-9d3e-2f7c1a9b4c11",
    "lease_owner": "0b5f3d6e-8f0f-4d5e-9d3e-2f7c1a9b4c11",
    "heartbeat_at": WHEN,
    "last_heartbeat_at": WHEN,
    "lease_expires_at": "2030-01-01T12:00:15Z",
    "created_at": WHEN,
    "started_at": WHEN,
    "completed_at": None,
    "cancel_requested": False,
    "cancelled_at": None,
    "cancelled_by": None,
    "cancellation_reason": None,
    "cancellation_id": None,
    "error_message": None,
    "progress": {"pages": 12},
    "args": {"site": "example.org", "pages": 100},
}

EXPLANATION: dict[str, Any] = {
    "job_id": 42,
    "status": "blocked",
    "reasons": [
        {
            "reason": "target",
            "sentence": "its target site:example.org is held by job 41",
            "about": "41",
        }
    ],
}

CANCEL: dict[str, Any] = {"reason": "customer left", "force": False, "grace": "10s"}

RESULT: dict[str, Any] = {
    "success": True,
    "cancellation_id": "cancel-000001",
    "job_id": 42,
    "job_became": "cancelled",
    "tasks_cancelled": [43],
    "tasks_completed": [44],
    "attempts_ended": {"asked": 0, "interrupted": 1, "terminated": 0, "killed": 0, "expired": 0},
    "runners_terminated": ["runner-0b5f3d6e-1"],
    "slots_released": ["trees/oak"],
    "artifacts_preserved": ["42/report.csv"],
    "partials_preserved": 3,
    "errors": [],
    "duration_seconds": 1.25,
    "status": "completed",
    "members": [
        {
            "job_id": 42,
            "was": "running",
            "became": "cancelled",
            "rung": "interrupted",
            "worker_id": "0b5f3d6e-8f0f-4d5e-9d3e-2f7c1a9b4c11",
            "runner": "runner-0b5f3d6e-1",
            "ended_at": WHEN,
            "error": None,
            "cleanup": None,
            "pids": [4711, 4712],
            "processes": 2,
            "reached": {"delivered": WHEN, "asked": WHEN, "interrupted": WHEN},
        }
    ],
}

INSPECTION: dict[str, Any] = {
    "id": 3,
    "job_id": 42,
    "asked_by": "ada",
    "asked_at": WHEN,
    "answered_at": WHEN,
    "stacks": [
        {
            "name": "its function",
            "frames": [
                {
                    "file": "/srv/shop/jobs.py",
                    "line": 31,
                    "function": "crawl",
                    "code": "page = fetch(url)",
                }
            ],
        }
    ],
    "processes": [
        {
            "pid": 4711,
            "name": "python3",
            "state": "sleeping",
            "cpu_seconds": 12.5,
            "memory": 48234496,
        }
    ],
    "notes": [],
}

STEP: dict[str, Any] = {
    "step_name": "terminate_runners",
    "status": "in_progress",
    "started_at": WHEN,
    "completed_at": None,
    "details": {},
    "error": None,
}

RECORD: dict[str, Any] = {
    **{name: RESULT[name] for name in RESULT if name not in ("success", "status", "members")},
    "task_id": None,
    "intent": "cancel",
    "reason": "customer left",
    "force": False,
    "cascade": True,
    "grace": 10.0,
    "ask_for": None,
    "last_rung": "killed",
    "rollback": False,
    "initiated_at": WHEN,
    "initiated_by": "ada",
    "status": "stopping_runners",
    "completed_at": None,
    "error": None,
    "again": False,
    "progress": [STEP],
    "job_became": None,
    "tasks_open": [43],
    "success": False,
    "members": [],
}

STATUS: dict[str, Any] = {
    "status": "stopping_runners",
    "cancellation_id": "cancel-000001",
    "job_id": 42,
    "progress": [STEP],
    "errors": [],
}

PARTIAL: dict[str, Any] = {"id": 1, "at": WHEN, "value": {"url": "https://example.org/"}}
LOG_LINE: dict[str, Any] = {"id": 1, "at": WHEN, "level": "info", "line": "12 pages"}
ARTIFACT: dict[str, Any] = {
    "name": "report.csv",
    "url": "s3://artifacts/default/42/report.csv",
    "size": 1024,
    "created_at": WHEN,
}
QUEUE: dict[str, Any] = {
    "name": "default",
    "by_status": {"queued": 3, "running": 2},
    "oldest_seconds": 1.5,
    "paused": False,
}
TARGET: dict[str, Any] = {
    "name": "site:example.org",
    "holder": 41,
    "blocked_by": [],
    "line": 3,
    "next": 42,
    "paused": False,
}
POOL: dict[str, Any] = {
    "name": "trees",
    "created_at": WHEN,
    "paused": False,
    "slots": [{"name": "oak", "job_id": 42, "held_at": WHEN}],
}
WORKER: dict[str, Any] = {
    "id": "0b5f3d6e-8f0f-4d5e-9d3e-2f7c1a9b4c11",
    "host": "host-1",
    "pid": 4711,
    "status": "alive",
    "queues": None,
    "started_at": WHEN,
    "beat_at": WHEN,
    "expires_at": "2030-01-01T12:00:15Z",
    "draining_at": None,
    "jobs": [{"tenant": "default", "job_id": 42, "task": "jobs.crawl", "since": WHEN}],
}
DRAIN: dict[str, Any] = {"worker_id": WORKER["id"], "draining_at": WHEN}
RUNNER: dict[str, Any] = {
    "runner": "runner-0b5f3d6e-4",
    "worker_id": WORKER["id"],
    "host": "host-1",
    "as_of": WHEN,
    "kind": "process",
    "pid": 4715,
    "ending": False,
    "jobs": [42],
    "others": 0,
}
RUNNER_ENDING: dict[str, Any] = {
    "runner": "runner-0b5f3d6e-4",
    "worker_id": WORKER["id"],
    "jobs": [42],
    "asked_at": WHEN,
}
STATISTICS: dict[str, Any] = {
    "total": 5,
    "by_status": {"queued": 3, "running": 2},
    "queues": {"default": {name: QUEUE[name] for name in QUEUE if name != "name"}},
    "refused": 0,
    "recovered": 0,
}
ENDS: dict[str, Any] = {
    "completed": 120,
    "failed": 2,
    "cancelled": 1,
    "wait_p50": 0.012,
    "wait_p95": 1.4,
    "run_p50": 2.1,
    "run_p95": 17.5,
}
HISTORY: dict[str, Any] = {
    "since": WHEN,
    "until": WHEN,
    "step_seconds": 900.0,
    "counted_until": WHEN,
    "total": ENDS,
    "buckets": [{**ENDS, "at": WHEN}],
    "queues": [{**ENDS, "queue": "crawl"}],
}
AUDIT: dict[str, Any] = {
    "id": 1,
    "at": WHEN,
    "actor": "ada",
    "via": "rest",
    "verb": "cancel",
    "subject": "job",
    "name": "42",
    "reason": "customer left",
    "before": {"state": "running"},
    "after": {"cancellation_id": "cancel-000001"},
}
STRATEGY: dict[str, Any] = {
    "name": "gentle",
    "options": {"grace": 10.0, "cascade": False},
    "created_at": WHEN,
    "created_by": "ada",
}
TOKEN: dict[str, Any] = {
    "id": 1,
    "name": "ada",
    "role": "operator",
    "tenant": "default",
    "created_at": WHEN,
    "created_by": "db:tenure",
    "expires_at": "2030-01-31T12:00:00Z",
    "revoked_at": None,
    "revoked_by": None,
}
TENANT: dict[str, Any] = {
    "name": "acme",
    "schema": "tenure_acme",
    "created_at": WHEN,
    "paused": False,
}
PREVIEW: dict[str, Any] = {
    "total": 12,
    "by_status": {"queued": 9, "running": 2, "completed": 1},
    "reaches": 11,
    "running": 2,
    "untouched": 1,
    "others": 0,
}
BULK: dict[str, Any] = {
    "id": 1,
    "filter": {"queue": "crawl"},
    "intent": "cancel",
    "options": {},
    "reason": "wrong site",
    "initiated_by": "ada",
    "via": "rest",
    "created_at": WHEN,
    "total": 11,
    "done": 11,
    "refused": 0,
    "failed": 0,
    "status": "completed",
    "ended_at": WHEN,
    "error": None,
}
POLICY: dict[str, Any] = {
    "name": "stale",
    "spec": {"filter": {"queue": "crawl"}, "when": {"waiting": "2h"}, "intent": "cancel"},
    "enabled": True,
    "created_at": WHEN,
    "created_by": "root",
    "checked_at": None,
    "last_error": None,
    "stopped": 0,
}
KNOWN_TASK: dict[str, Any] = {
    "name": "shop.crawl",
    "digest": "5f3a9c",
    "executor": "async",
    "doc": "Crawl a site.",
    "schema": {
        "type": "object",
        "properties": {"site": {"type": "string"}},
        "required": ["site"],
        "additionalProperties": False,
    },
    "options": {"queue": "crawl", "priority": 0, "max_attempts": 4},
    "target": "site:{site}",
    "unique": None,
    "compensate": None,
    "everywhere": True,
    "first_announced_at": WHEN,
    "announced_at": WHEN,
    "serving": [{"digest": "5f3a9c", "workers": 2}],
}
