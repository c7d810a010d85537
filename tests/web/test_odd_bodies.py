"""Bodies about steps, questions, events, limits and budgets that make no sense, raw and as JSON."""

import json
from typing import Any

import psycopg
import pytest

from tenure.store.store import Store
from tests.store.test_steps import keep, running, step, waiting
from tests.web.http_client import Http

JSON = {"content-type": "application/json"}
DEEP = "[" * 5000 + "]" * 5000
ODD = [
    "null", "5", "-1", '""', '"\\u0000"', '"\\ud800"', "NaN", "Infinity", "-Infinity", "1e400",
    "[]", "{}", DEEP, '"' + "x" * 3000 + '"', "true", '{"\\u0000": 1}', "99999999999999999999999",
]  # fmt: skip
BODIES = [
    ("POST", "/api/jobs/{job}/answer", '{"value": %s}'),
    ("POST", "/api/jobs/{job}/answer", '{"value": {"ok": true}, "question": %s}'),
    ("POST", "/api/jobs/{done}/rerun", '{"from_step": %s}'),
    ("POST", "/api/jobs/{done}/rerun", '{"from_step": "plan", "steps": %s}'),
    ("POST", "/api/jobs/{done}/rerun", '{"from_step": "plan", "steps": {"plan": %s}}'),
    ("POST", "/api/jobs/{job}/resume", '{"value": %s}'),
    ("POST", "/api/jobs/{job}/resume", '{"budget": %s}'),
    ("POST", "/api/jobs/{job}/resume", '{"budget": {"tokens": %s}}'),
    ("POST", "/api/published", '{"name": %s}'),
    ("POST", "/api/published", '{"name": "paid", "key": %s}'),
    ("POST", "/api/published", '{"name": "paid", "payload": %s}'),
    ("POST", "/api/published", '{"name": "paid", "keep": %s}'),
    ("PUT", "/api/limits/api", "%s"),
    ("PUT", "/api/limits/api", '{"rates": %s}'),
    ("PUT", "/api/limits/api", '{"rates": {"calls": %s}}'),
    ("PUT", "/api/limits/api", '{"rates": {"calls": {"amount": %s, "per": "1m"}}}'),
    ("PUT", "/api/limits/api", '{"rates": {"calls": {"amount": 1, "per": %s}}}'),
    ("PUT", "/api/limits/api", '{"rates": {"calls": {"amount": 1, "per": "1m", "burst": %s}}}'),
    ("PUT", "/api/limits/api", '{"at_once": %s}'),
    ("POST", "/api/limits/known/close", '{"duration": %s}'),
    ("POST", "/api/limits/known/close", '{"reason": %s}'),
    ("POST", "/api/limits/known/open", '{"reason": %s}'),
]


@pytest.mark.parametrize(("method", "path", "body"), BODIES)
def test_an_odd_body_is_refused_with_a_sentence_or_means_something(
    admin: Http, store: Store, sql: psycopg.Connection, method: str, path: str, body: str
) -> None:
    store.set_limit("known", at_once=1)
    worker, done = running(store)
    keep(worker, done, step("plan"))
    worker.finish(done)
    _, job = waiting(store, "question")
    where = path.format(job=job, done=done.id)
    for odd in ODD:
        answer = admin.send(method, where, content=(body % odd).encode(), headers=JSON)
        told = f"{odd[:40]}: {answer.status_code} {answer.text[:300]}"
        assert answer.status_code < 500, told
        assert "Traceback" not in answer.text, told
        parsed: Any = json.loads(answer.text)
        if answer.status_code >= 400:
            message = str(parsed)
            assert not any(word in message for word in ("jsonb", "violates", "psycopg")), told
        # Whatever was stored can be read by everybody.
        for read in (f"/api/jobs/{job}/steps", "/api/limits", "/api/questions", "/api/jobs"):
            assert admin.get(read).status_code == 200, f"{told}; then {read}"
