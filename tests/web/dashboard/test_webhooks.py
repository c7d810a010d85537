"""Webhooks on the dashboard: managed by admins, with a secret that is shown once."""

import re

import pytest

from tenure.domain.webhook import EVENTS
from tenure.errors import InputRefused
from tenure.store.results import AuditRow
from tenure.store.store import Store
from tenure.store.webhook_results import AttemptedDelivery
from tests.web.dashboard.visitor import Visitor, actions, said

SECRET = re.compile(r"whsec_[A-Za-z0-9+/=]{32,}")
HOSTILE = "<script>alert('x')</script>"


def secret_in(text: str) -> str:
    [secret] = set(SECRET.findall(said(text)))
    assert "data-every" not in text, "a refresh would remove the secret"
    return str(secret)


def done(store: Store) -> list[str]:
    rows: tuple[AuditRow, ...] = store.audit_log("webhook")
    assert {(row.actor, row.via, row.name) for row in rows} == {("root", "dashboard", "ci")}
    return [row.verb for row in reversed(rows)]


def test_an_admin_creates_tests_rotates_redelivers_and_deletes(root: Visitor, store: Store) -> None:
    made = root.does(
        "/webhooks",
        name="ci",
        url="https://example.org/in",
        event="job.failed",
        tasks="crawl, mail",
    )
    assert (made.status_code, made.headers["cache-control"]) == (200, "no-store")
    first = secret_in(made.text)
    [webhook] = store.webhooks()
    assert (webhook.events, webhook.tasks) == (("job.failed",), ("crawl", "mail"))

    assert root.does("/webhooks/test", name="ci").headers["location"] == "/webhooks/ci"
    [taken] = store.take_deliveries("ci")
    assert taken.secrets == (first,)
    store.record_deliveries("ci", [AttemptedDelivery(taken.id, 1, 500, f"it answered {HOSTILE}")])
    page = root.sees("/webhooks/ci")
    assert HOSTILE not in page
    assert f"{taken.id} webhook.test" in said(page)
    assert f"pending 1 it answered {HOSTILE}" in said(page)
    assert "failing" in said(root.sees("/webhooks"))

    second = secret_in(root.does("/webhooks/rotate", name="ci", keep="1h").text)
    assert root.does("/webhooks/redeliver", name="ci", delivery=str(taken.id)).status_code == 303
    [again] = store.take_deliveries("ci")
    assert (again.message, again.secrets) == (taken.message, (second, first))
    store.record_deliveries("ci", [AttemptedDelivery(again.id, 2, 204)])
    page = root.sees("/webhooks/ci")
    assert "delivered 2 204" in said(page)
    for secret in (first, second):
        assert secret not in page + root.sees("/webhooks")

    saved = root.does("/webhooks", name="ci", url=f"https://{HOSTILE}")
    assert HOSTILE not in saved.text + root.sees("/webhooks/ci")
    assert f"https://{HOSTILE}" in said(saved.text)
    assert not SECRET.search(said(saved.text)), "a webhook that is replaced keeps its secret"
    assert root.does("/webhooks/drop", name="ci").headers["location"] == "/webhooks"
    assert store.webhooks() == ()
    assert root.see("/webhooks/ci").status_code == 404
    assert done(store) == ["set", "test", "rotate", "redeliver", "set", "drop"]


def test_what_is_wrong_is_said(root: Visitor, store: Store) -> None:
    url = "https://example.org/in"
    root.does("/webhooks", name="ci", url=url)
    for path, fields, sentence in (
        ("/webhooks", {"url": url}, "name: this field is required"),
        ("/webhooks", {"name": "..", "url": url}, "the first is no dot"),
        ("/webhooks", {"name": "ci", "url": "ftp://example.org"}, "the URL of a webhook"),
        ("/webhooks", {"name": "ci", "url": url, "event": "job.odd"}, ", ".join(EVENTS)),
        ("/webhooks/rotate", {"name": "ci", "keep": "soon"}, "keep"),
        ("/webhooks/redeliver", {"name": "ci", "delivery": "x"}, "delivery: it takes a whole"),
        ("/webhooks/redeliver", {"name": "ci", "delivery": "77"}, "has no delivery 77"),
        ("/webhooks/test", {"name": HOSTILE}, "there is no webhook"),
    ):
        answer = root.does(path, **fields)
        assert answer.status_code in (404, 422), (path, fields)
        assert sentence in said(answer.text)
        assert HOSTILE not in answer.text
    with pytest.raises(InputRefused):
        store.set_webhook("..", url)


def test_nobody_but_an_admin_sees_or_changes_webhooks(
    root: Visitor, ann: Visitor, vic: Visitor, store: Store
) -> None:
    root.does("/webhooks", name="ci", url="https://example.org/in")
    for path in ("/webhooks/test", "/webhooks/redeliver", "/webhooks/drop", "/webhooks/rotate"):
        assert path in actions(root.sees("/webhooks/ci"))
        for other in (ann, vic):
            assert other.does(path, name="ci").status_code == 403, path
    for other in (ann, vic):
        assert other.does("/webhooks", name="x", url="https://example.org").status_code == 403
        assert other.see("/webhooks").status_code == other.see("/webhooks/ci").status_code == 403
        assert 'href="/webhooks"' not in other.sees("/jobs")
    assert 'href="/webhooks"' in root.sees("/jobs")
    assert [webhook.name for webhook in store.webhooks()] == ["ci"]
