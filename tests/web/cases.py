"""For every route: the role it needs, and a request that succeeds with that role."""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

from tenure.control.client import Client
from tenure.domain.job import NEVER, NewJob
from tenure.domain.lifecycle import Intent
from tenure.domain.principal import Role
from tenure.domain.tenant import DEFAULT
from tenure.store.outcomes import Artifact, Ending, Report
from tests.factories import Worker, make_worker

OWNER = "ada"
MARK = "seen-by-nobody-else"  # part of every name in the default tenant

Request = tuple[str, Any]  # the path, and the body


class Scene:
    """Objects of the default tenant, created for each request."""

    def __init__(self, client: Client, folder: Path) -> None:
        self.store = client.store
        self._folder = folder

    def job(self, **more: Any) -> int:
        args = {"mark": MARK}
        draft = NewJob(task="work", args=args, owner=OWNER, key=self.name(), **more)
        [made] = self.store.enqueue(draft)
        return made.id

    def name(self) -> str:
        """Return a name for an object that is created."""
        return f"{MARK}-{uuid4()}"

    def new(self) -> str:
        """Return a name that is not in use."""
        return f"new-{uuid4()}"

    def held(self, **more: Any) -> tuple[int, Worker, int]:
        """Return a job that a worker holds, the worker and the token."""
        queue = self.new()
        job = self.job(queue=queue, **more)
        worker = make_worker(self.store, timedelta(hours=1), queues=[queue])
        return job, worker, worker.claim_one().token

    def runner(self) -> str:
        """Return the name of a runner that has a job."""
        job, worker, token = self.held()
        name = self.name()
        about = {"tenant": "default", "kind": "async", "pid": 7, "jobs": {str(job): token}}
        self.store.renew(worker.id, runners={name: about})
        return name

    def asks(self) -> int:
        job, worker, token = self.held()
        question: dict[str, Any] = {"text": "Well?", "schema": {}, "role": None}
        wait = {"name": "ask", "digest": "d", "kind": "question", "question": question}
        self.store.await_step(worker.id, job, token, wait)
        return job

    def failed(self) -> int:
        job, worker, _ = self.held(max_attempts=1)
        [claimed] = self.store.held(worker.id)
        assert claimed.job == job
        self.store.crash(worker.id, [Ending(job=job, token=claimed.token)])
        return job

    def paused(self, **more: Any) -> int:
        job = self.job(**more)
        self.store.stop(job, intent=Intent.PAUSE)
        return job

    def cancelled(self) -> int:
        job = self.job()
        self.store.stop(job)
        return job

    def record(self) -> str:
        return self.store.cancellation(job=self.cancelled()).cancellation_id

    def unqueued(self) -> int:
        return self.job(run_at=NEVER)

    def artifact(self) -> int:
        job, worker, token = self.held()
        place = self._folder / "default" / str(job)
        place.mkdir(parents=True)
        (place / "report.txt").write_text(MARK)
        kept = [Artifact("report.txt", f"file://{place}/report.txt", len(MARK))]
        self.store.report(worker.id, [Report(job=job, token=token, artifacts=kept)])
        return job

    def webhook(self) -> str:
        name = self.name()
        self.store.set_webhook(name, "https://hooks.example.org/in", ["job.failed"])
        return name

    def limit(self) -> str:
        return self.store.set_limit(self.name(), at_once=1).name

    def pool(self) -> str:
        return self.store.create_pool(self.name(), ["oak", "elm"]).name

    def strategy(self) -> str:
        return self.store.set_strategy(self.name(), {"grace": 5}).name

    def policy(self) -> str:
        return self.store.set_policy(self.name(), {"when": {"age": "100d"}}).name

    def bulk(self) -> int:
        return self.store.bulk_stop({"queue": self.name()}).id


@dataclass(frozen=True)
class Case:
    make: Callable[[Scene], Request]
    needs: Role = Role.VIEWER
    mine: bool = False  # an operator must own the job
    streams: bool = False
    elsewhere: tuple[int, ...] = (404,)  # status for an admin of another tenant
    granted: tuple[int, ...] = (200, 201, 202)


def _reads(path: str) -> Case:
    """Return a case whose path is the same for all tenants; each sees its own data."""
    return Case(lambda _: (path, None), elsewhere=(200,))


def _admins(make: Callable[[Scene], Request], *elsewhere: int) -> Case:
    return Case(make, Role.ADMIN, elsewhere=elsewhere or (404,))


def _owners(make: Callable[[Scene], Request]) -> Case:
    return Case(make, Role.OPERATOR, mine=True)


def _shared(make: Callable[[Scene], Request], *granted: int) -> Case:
    """Return a case that only admins of the default tenant may use."""
    return Case(make, Role.ADMIN, elsewhere=(403,), granted=granted or (200, 201))


OPEN = {"GET /healthz", "GET /readyz"}

CASES: Mapping[str, Case] = {
    # Jobs.
    "POST /api/jobs": Case(
        lambda _: ("/api/jobs", {"task": "work", "unannounced": True}),
        Role.OPERATOR,
        elsewhere=(201,),
    ),
    "GET /api/jobs": _reads("/api/jobs"),
    "GET /api/jobs/{job_id}": Case(lambda s: (f"/api/jobs/{s.job()}", None)),
    "GET /api/jobs/{job_id}/explain": Case(lambda s: (f"/api/jobs/{s.job()}/explain", None)),
    "POST /api/jobs/{job_id}/inspect": Case(
        lambda s: (f"/api/jobs/{s.held()[0]}/inspect", {"wait": 0}),
        Role.OPERATOR,
        mine=True,
        granted=(504,),  # no worker is running that could answer
    ),
    "GET /api/jobs/{job_id}/tasks": Case(lambda s: (f"/api/jobs/{s.job()}/tasks", None)),
    "GET /api/jobs/{job_id}/partials": Case(lambda s: (f"/api/jobs/{s.job()}/partials", None)),
    "GET /api/jobs/{job_id}/log": Case(lambda s: (f"/api/jobs/{s.job()}/log", None)),
    "GET /api/jobs/{job_id}/artifacts": Case(lambda s: (f"/api/jobs/{s.job()}/artifacts", None)),
    "GET /api/jobs/{job_id}/artifacts/{name:path}": Case(
        lambda s: (f"/api/jobs/{s.artifact()}/artifacts/report.txt", None)
    ),
    "GET /api/jobs/{job_id}/cancellation-status": Case(
        lambda s: (f"/api/jobs/{s.cancelled()}/cancellation-status", None)
    ),
    # Stops and resumes.
    "POST /api/jobs/{job_id}/cancel": _owners(lambda s: (f"/api/jobs/{s.job()}/cancel", {})),
    "POST /api/tasks/{task_id}/cancel": _owners(lambda s: (f"/api/tasks/{s.job()}/cancel", {})),
    "POST /api/jobs/{job_id}/pause": _owners(lambda s: (f"/api/jobs/{s.job()}/pause", {})),
    "POST /api/jobs/{job_id}/resume": _owners(lambda s: (f"/api/jobs/{s.paused()}/resume", {})),
    "POST /targets/{target_id:path}/jobs/{job_id}/resume/": _owners(
        lambda s: (f"/targets/repo/x/jobs/{s.paused(target='repo/x')}/resume/", {})
    ),
    "POST /api/jobs/{job_id}/clear": _owners(lambda s: (f"/api/jobs/{s.failed()}/clear", {})),
    "POST /api/jobs/{job_id}/rerun": _owners(lambda s: (f"/api/jobs/{s.job()}/rerun", {})),
    "POST /api/jobs/{job_id}/queue": _owners(lambda s: (f"/api/jobs/{s.unqueued()}/queue", {})),
    # Steps and questions.
    "GET /api/jobs/{job_id}/steps": Case(lambda s: (f"/api/jobs/{s.job()}/steps", None)),
    "GET /api/jobs/{job_id}/questions": Case(lambda s: (f"/api/jobs/{s.asks()}/questions", None)),
    "GET /api/questions": _reads("/api/questions"),
    "POST /api/jobs/{job_id}/answer": _owners(
        lambda s: (f"/api/jobs/{s.asks()}/answer", {"value": 1})
    ),
    "POST /api/published": Case(
        lambda _: ("/api/published", {"name": "paid"}), Role.OPERATOR, elsewhere=(201,)
    ),
    "GET /api/catalogue": _reads("/api/catalogue"),
    "GET /api/catalogue/{name:path}": Case(
        lambda _: ("/api/catalogue/work", None), granted=(404,), elsewhere=(404,)
    ),
    "GET /api/cancellations": _reads("/api/cancellations"),
    "GET /api/cancellations/{cancellation_id}": Case(
        lambda s: (f"/api/cancellations/{s.record()}", None)
    ),
    "POST /api/cancellations/{cancellation_id}/rollback": _owners(
        lambda s: (f"/api/cancellations/{s.record()}/rollback", {})
    ),
    # Events.
    "GET /api/jobs/{job_id}/events": Case(
        lambda s: (f"/api/jobs/{s.job()}/events", None), streams=True
    ),
    "GET /api/jobs/{job_id}/stream": Case(
        lambda s: (f"/api/jobs/{s.job()}/stream", None), streams=True
    ),
    "GET /api/cancellations/{cancellation_id}/events": Case(
        lambda s: (f"/api/cancellations/{s.record()}/events", None), streams=True
    ),
    "GET /api/events": Case(lambda _: ("/api/events", None), streams=True, elsewhere=(200,)),
    # Queues, targets, pools, workers.
    "GET /api/queues": _reads("/api/queues"),
    "POST /api/queues/{name:path}/pause": _admins(
        lambda s: (f"/api/queues/{s.new()}/pause", {}), 200
    ),
    "POST /api/queues/{name:path}/resume": _admins(
        lambda s: (f"/api/queues/{s.new()}/resume", {}), 200
    ),
    "GET /api/targets": _reads("/api/targets"),
    "POST /api/targets/{name:path}/pause": _admins(
        lambda s: (f"/api/targets/{s.new()}/pause", {}), 200
    ),
    "POST /api/targets/{name:path}/resume": _admins(
        lambda s: (f"/api/targets/{s.new()}/resume", {}), 200
    ),
    "POST /api/targets/{name:path}/clear": _admins(
        lambda s: (f"/api/targets/{s.new()}/clear", {}), 200
    ),
    "GET /api/pauses": _reads("/api/pauses"),
    "GET /api/schedules": _reads("/api/schedules"),
    "POST /api/schedules/{name:path}/pause": _admins(
        lambda s: (f"/api/schedules/{s.new()}/pause", {}), 200
    ),
    "POST /api/schedules/{name:path}/resume": _admins(
        lambda s: (f"/api/schedules/{s.new()}/resume", {}), 200
    ),
    "POST /api/schedules/{name:path}/run": Case(
        lambda _: ("/api/schedules/nightly/run", {"beside": True}), Role.OPERATOR
    ),
    "GET /api/limits": _reads("/api/limits"),
    "GET /api/limits/{limit:path}": Case(lambda s: (f"/api/limits/{s.limit()}", None)),
    "PUT /api/limits/{limit:path}": _admins(
        lambda s: (f"/api/limits/{s.new()}", {"at_once": 2}), 200
    ),
    "DELETE /api/limits/{limit:path}": _admins(lambda s: (f"/api/limits/{s.limit()}", None)),
    "POST /api/limits/{limit:path}/close": _admins(
        lambda s: (f"/api/limits/{s.limit()}/close", {"duration": "1m"})
    ),
    "POST /api/limits/{limit:path}/open": _admins(
        lambda s: (f"/api/limits/{s.new()}/open", {}), 200
    ),
    "GET /api/pools": _reads("/api/pools"),
    "POST /api/pools": _admins(lambda s: ("/api/pools", {"name": s.new()}), 201),
    "GET /api/pools/{pool:path}": Case(lambda s: (f"/api/pools/{s.pool()}", None)),
    "POST /api/pools/{pool:path}/pause": _admins(
        lambda s: (f"/api/pools/{s.new()}/pause", {}), 200
    ),
    "POST /api/pools/{pool:path}/resume": _admins(
        lambda s: (f"/api/pools/{s.new()}/resume", {}), 200
    ),
    "POST /api/pools/{pool:path}/slots": _admins(
        lambda s: (f"/api/pools/{s.pool()}/slots", {"add": ["ash"]})
    ),
    "POST /api/pools/{pool:path}/slots/{slot:path}/release": _admins(
        lambda s: (f"/api/pools/{s.pool()}/slots/oak/release", {})
    ),
    "GET /api/workers": _reads("/api/workers"),
    "POST /api/workers/{worker_id}/drain": _shared(
        lambda s: (f"/api/workers/{make_worker(s.store).id}/drain", {})
    ),
    "GET /api/jobs/{job_id}/runners": Case(lambda s: (f"/api/jobs/{s.job()}/runners", None)),
    "POST /api/workers/runners/{runner_id}/end": _owners(
        lambda s: (f"/api/workers/runners/{s.runner()}/end", {"grace": "1s"})
    ),
    # Policies, strategies, bulk stops.
    "GET /api/strategies": _reads("/api/strategies"),
    "PUT /api/strategies/{name:path}": _admins(
        lambda s: (f"/api/strategies/{s.new()}", {"grace": 1}), 200
    ),
    "DELETE /api/strategies/{name:path}": _admins(
        lambda s: (f"/api/strategies/{s.strategy()}", None)
    ),
    "GET /api/policies": _reads("/api/policies"),
    "PUT /api/policies/{name:path}": _owners(
        lambda s: (f"/api/policies/{s.new()}", {"filter": {"id": s.job()}, "when": {"age": "9d"}})
    ),
    "DELETE /api/policies/{name:path}": _admins(lambda s: (f"/api/policies/{s.policy()}", None)),
    "POST /api/bulk/preview": Case(
        lambda s: ("/api/bulk/preview", {"filter": {"queue": s.new()}}), elsewhere=(200,)
    ),
    "POST /api/bulk": Case(
        lambda s: ("/api/bulk", {"filter": {"queue": s.new()}}), Role.OPERATOR, elsewhere=(200,)
    ),
    "GET /api/bulk": _reads("/api/bulk"),
    "GET /api/bulk/{bulk_id}": Case(lambda s: (f"/api/bulk/{s.bulk()}", None)),
    # Tenants, tokens, the whole installation.
    "GET /api/tenants": _shared(lambda _: ("/api/tenants", None)),
    "POST /api/tenants": _shared(lambda _: ("/api/tenants", {"name": "acme"})),
    "DELETE /api/tenants/{name}": _shared(
        # An authorized caller gets 404: there is no such tenant. Drops are tested elsewhere.
        lambda _: ("/api/tenants/nowhere", None),
        404,
    ),
    "POST /api/tenants/{name}/pause": _shared(lambda _: ("/api/tenants/default/pause", {})),
    "POST /api/tenants/{name}/resume": _shared(lambda _: ("/api/tenants/default/resume", {})),
    "GET /api/webhooks": Case(lambda _: ("/api/webhooks", None), Role.ADMIN, elsewhere=(200,)),
    "GET /api/webhooks/{webhook}": _admins(lambda s: (f"/api/webhooks/{s.webhook()}", None)),
    "PUT /api/webhooks/{webhook}": _admins(
        lambda s: (f"/api/webhooks/{s.new()}", {"url": "https://hooks.example.org"}), 200
    ),
    "DELETE /api/webhooks/{webhook}": _admins(lambda s: (f"/api/webhooks/{s.webhook()}", None)),
    "POST /api/webhooks/{webhook}/rotate": _admins(
        lambda s: (f"/api/webhooks/{s.webhook()}/rotate", {"keep": "1h"})
    ),
    "POST /api/webhooks/{webhook}/test": _admins(
        lambda s: (f"/api/webhooks/{s.webhook()}/test", {})
    ),
    "GET /api/webhooks/{webhook}/deliveries": Case(
        lambda s: (f"/api/webhooks/{s.webhook()}/deliveries", None), Role.ADMIN, elsewhere=(200,)
    ),
    "POST /api/webhooks/{webhook}/redeliver": _admins(
        lambda s: (f"/api/webhooks/{s.webhook()}/redeliver", {})
    ),
    "GET /api/tokens": Case(lambda _: ("/api/tokens", None), Role.ADMIN, elsewhere=(200,)),
    "POST /api/tokens": _admins(
        lambda s: ("/api/tokens", {"name": s.new(), "role": "viewer"}), 201
    ),
    "POST /api/tokens/{token_id}/revoke": _admins(
        lambda s: (f"/api/tokens/{_token(s)}/revoke", {})
    ),
    "GET /api/scale": _reads("/api/scale"),
    "GET /api/statistics": _reads("/api/statistics"),
    "GET /api/history": _reads("/api/history"),
    "GET /api/task-runs": _reads("/api/task-runs"),
    "GET /api/leaks": _reads("/api/leaks"),
    "GET /api/audit": _reads("/api/audit"),
    "GET /metrics": _reads("/metrics"),
    "GET /openapi.json": _reads("/openapi.json"),
}


def _token(scene: Scene) -> int:
    return scene.store.create_token(scene.name(), Role.VIEWER, DEFAULT, secrets.token_bytes(32)).id
