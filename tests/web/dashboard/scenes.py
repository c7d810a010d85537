"""The objects in the pictures of the pages: one of every kind, and too many of them."""

from datetime import timedelta
from typing import Any

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import Intent
from tenure.store.outcomes import LogLine, Report
from tenure.store.store import Store
from tests.factories import announcement, make_job, make_worker, promote

SCHEMA = {
    "type": "object",
    "properties": {
        "site": {"type": "string", "description": "which shop"},
        "depth": {"type": "integer", "minimum": 1, "maximum": 10, "default": 3},
        "mode": {"enum": ["fast", "careful"]},
        "again": {"anyOf": [{"type": "boolean"}, {"type": "null"}], "default": None},
        "headers": {"type": "object"},
    },
    "required": ["site"],
    "additionalProperties": False,
}


def typical(store: Store) -> dict[str, str]:
    """Create one object of every kind; return the names of the pages and their paths."""
    tasks = {"shop.crawl": "Read all pages of a shop.", "shop.pay": None, "shop.family": None}
    store.announce_tasks(
        [announcement(name, doc=doc, schema=SCHEMA) for name, doc in tasks.items()]
    )
    worker = make_worker(store, timedelta(minutes=10))
    store.create_pool("browsers", ["chromium-1", "chromium-2"])
    draft = NewJob(task="shop.crawl", queue="crawl", owner="ann", tags=["eu"], args={"site": "a"})
    jobs = [one.id for one in store.enqueue([draft] * 6)]
    family = make_job(store, "shop.family", owner="ann", target="site:a", pools=["browsers"])
    children = [make_job(store, "shop.crawl", parent=family) for _ in range(3)]
    failing = make_job(store, "shop.pay", owner="ben", target="site:b", max_attempts=1)
    make_job(store, "shop.pay", owner="ben", target="site:b")
    promote(store)
    held = {one.id: one for one in worker.claim(20)}
    told = [
        Report(
            job=one,
            token=held[one].token,
            progress={"done": 30 + 10 * n, "total": 100, "message": f"page {n}"},
            logs=[LogLine(f"fetched page {n}"), LogLine("slow answer", "warning")],
        )
        for n, one in enumerate([family, *jobs[:4], *children])
    ]
    store.report(worker.id, told)
    error = {"type": "ValueError", "message": "card refused", "traceback": "in pay()"}
    worker.finish(held[failing], "failed", error=error)
    left_open = {"failed": [{"name": "browser", "error": "it does not answer"}]}
    worker.finish(held[jobs[5]], cleanup=left_open)
    asked = {"name": "ask", "kind": "question", "digest": "d", "within": None}
    question = {"text": "Which of the two prices is right?", "schema": {}, "role": "operator"}
    store.await_step(worker.id, jobs[4], held[jobs[4]].token, {**asked, "question": question})
    record = store.stop(family, reason="customer left", by="ann", grace=timedelta(minutes=10))
    store.pause_dispatch("pool", "browsers", reason="an upgrade", by="ben")
    store.pause_dispatch("queue", "mail", reason="the provider is down", by="ann")
    store.pause_dispatch("schedule", "nightly", reason="holidays", by="ann")
    store.set_policy("stale", {"filter": {"queue": "crawl"}, "when": {"waiting": "2h"}})
    spec = {"when": {"error_rate": {"above": 0.5}}, "intent": "pause", "reason": "circuit open"}
    store.set_policy("breaker", spec, enabled=False)
    store.set_strategy("gentle", {"grace": 120, "last_rung": "interrupted"}, by="root")
    bulk = store.bulk_stop({"queue": "mail"}, reason="wrong template", by="ann")
    paused = make_job(store, "shop.index", queue="later")
    store.stop(paused, intent=Intent.PAUSE, reason="at night", by="ann")
    store.resume(paused, reason="now", by="ben")
    names = (
        *("jobs", "tasks", "queues", "targets", "schedules", "questions", "stops"),
        *("cancellations", "policies", "strategies", "bulks", "fleet", "workers", "pools"),
        *("limits", "leaks", "tenants", "tokens", "webhooks", "audit", "system", "bulk"),
    )
    return {
        "login": "/login",
        "overview": "/",
        **{name: f"/{name}" for name in names},
        "components": "/_components",
        "task": "/tasks/shop.crawl",
        "tree": f"/jobs?open={family}",
        "problem": "/jobs?q=stat:failed",
        "selection": f"/bulk?intent=cancel&id={family}",
        "job": f"/jobs/{family}",
        "failed": f"/jobs/{failing}",
        "resumed": f"/jobs/{paused}",
        "stopped": f"/bulk/{bulk.id}",
        "cancellation": f"/cancellations/{record.cancellation_id}",
        "refused": "/jobs/999999",
    }


def overfull(store: Store) -> dict[str, str]:
    """Create many objects with the longest names; return pages that show them."""
    long = "a-name-that-goes-on-" * 8
    queues = [f"{long}{n}" for n in range(20)]
    store.announce_tasks([announcement(f"{long}{n}", doc=long) for n in range(20)])
    drafts: list[Any] = [
        NewJob(task=f"{long}{n}", queue=queue, owner=long, tags=[long[:50]], max_attempts=1)
        for n, queue in enumerate(queues)
    ]
    store.enqueue(drafts)
    promote(store)
    worker = make_worker(store, timedelta(minutes=10))
    for n, job in enumerate(worker.claim(18)):
        if n < 5:
            worker.finish(job, "failed", error={"type": "E", "message": long * 20})
    for queue in queues[:5]:
        store.pause_dispatch("queue", queue, reason=long, by=long)
    return {"overview": "/", "tasks": "/tasks", "fleet": "/fleet"}
