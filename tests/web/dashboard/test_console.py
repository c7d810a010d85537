"""The frame of the dashboard: numbers of the sidebar, the tenant switcher, schedules, the fleet."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta

import pytest

from tenure.control.authorized_client import AuthorizedClient
from tenure.control.client import Client
from tenure.control.tokens import make_token
from tenure.domain.job import NewJob
from tenure.domain.principal import Principal, Role
from tenure.domain.tenant import Tenant
from tenure.store.store import Store
from tenure.web import create_app
from tenure.web.dashboard import attention
from tests.apps.paged import app as paged
from tests.factories import make_job, make_worker, promote
from tests.web.dashboard.conftest import Visits
from tests.web.dashboard.visitor import Visitor, actions, said, tags
from tests.web.http_client import asking


def counts(visitor: Visitor) -> dict[str, str]:
    """Return the numbers of the sidebar by what they say."""
    found = [told for tag, told in tags(visitor.sees("/system")) if tag == "span"]
    return {told["title"]: told["class"] for told in found if "count" in told.get("class", "")}


def test_the_sidebar_counts_only_what_needs_somebody(vic: Visitor, store: Store) -> None:
    assert counts(vic) == {}
    worker = make_worker(store)
    store.pause_dispatch("queue", "mail")
    job = make_job(store)
    promote(store)
    [held] = worker.claim(1)
    store.stop(job, reason="now")
    asked: dict[str, object] = {"text": "Well?", "schema": {}, "role": None}
    make_job(store, "work")
    promote(store)
    [other] = worker.claim(1)
    wait = {"name": "ask", "kind": "question", "digest": "d", "within": None, "question": asked}
    store.await_step(worker.id, other.id, other.token, wait)
    make_worker(store, timedelta(milliseconds=1))
    found = counts(vic)
    assert {text: tone.split()[-1] for text, tone in found.items()} == {
        "1 queue paused": "care",
        "1 question to answer": "care",
        "1 stop in progress": "busy",
        "1 worker late": "bad",
    }
    worker.finish(held, "stopped", cleanup={"failed": ["browser"]})
    assert "browser" in said(vic.sees("/leaks"))


def test_what_is_paused_says_by_whom_and_why(root: Visitor, store: Store) -> None:
    store.create_pool("trees", ["oak"])
    make_job(store, target="site:1")
    promote(store)
    for subject, name in (("queue", "mail"), ("target", "site:1"), ("pool", "trees")):
        root.does(f"/{subject}s/pause", name=name, reason=f"storm over {name}")
        text = said(root.sees(f"/{subject}s"))
        assert f"storm over {name} by root" in text
        assert f"Resume {subject} {name}" in text
        assert f"{subject.capitalize()} {name} is paused" in said(root.sees("/"))


def test_an_admin_opens_another_tenant_and_acts_there(
    root: Visitor, client: Client, store: Store
) -> None:
    client.migrate(Tenant("acme"))
    with Store(client.url, tenant=Tenant("acme")) as acme:
        theirs = make_job(acme, key="of-acme")
        ours_before = root.token
        answer = root.does("/tenant", name="acme")
        assert answer.status_code == 303
        root.headers["cookie"] += f"; tenure_tenant={answer.cookies['tenure_tenant']}"
        page = root.sees("/jobs")
        assert "of-acme" in page
        assert 'data-tenant="acme"' in page
        assert "/tenants" not in page, "tenants are managed in the default tenant"
        stale = root.send(f"/jobs/{theirs}/cancel", {"csrf": ours_before, "reason": "x"})
        assert stale.status_code == 403, "a form of the other tenant does nothing here"
        assert root.does(f"/jobs/{theirs}/cancel", reason="ours now").status_code == 303
        assert acme.show(theirs).cancelled_by == "root"
    assert store.list_jobs() == ()
    root.does("/tenant", name="default")
    assert root.does("/tenant", name="nobody").status_code == 404
    assert root.does("/tenant", name="Nobody!").status_code == 422


def test_nobody_else_opens_another_tenant(client: Client, visits: Visits, ann: Visitor) -> None:
    client.migrate(Tenant("acme"))
    with Store(client.url, tenant=Tenant("acme")) as acme:
        make_job(acme, key="of-acme")
    boss = visits("boss", Role.ADMIN, "acme")
    for visitor in (ann, boss):
        assert visitor.does("/tenant", name="acme").status_code == 403
        assert "/tenant" not in actions(visitor.sees("/jobs"))
    ann.headers["cookie"] += "; tenure_tenant=acme"
    assert "of-acme" not in ann.sees("/jobs"), "a cookie alone opens nothing"


@pytest.fixture
def scheduled(client: Client) -> Iterator[Visitor]:
    client.schedules = paged.schedules
    with asking(create_app(client)) as http:
        yield Visitor(http, make_token(client, "root", Role.ADMIN)[0])


def test_a_schedule_shows_its_runs_and_is_run_and_paused(scheduled: Visitor, store: Store) -> None:
    store.enqueue_reserved(NewJob(task="report"), idempotency="a", by="schedule:nightly")
    worker = make_worker(store)
    promote(store)
    worker.finish(worker.claim_one(), value="the newest result")
    text = said(scheduled.sees("/schedules"))
    assert "the newest result" in text
    assert "✓ completed 1" in text
    assert text.count("Europe/Berlin") == 1
    ran = scheduled.does("/schedules/run", name="nightly")
    assert (ran.status_code, ran.headers["location"]) == (303, "/jobs/2")
    job = store.show(2)
    assert (job.owner, job.task) == ("root", "tests.apps.paged.report")
    assert job.args == {"message": "nightly"}
    assert "schedule:nightly" in (job.tags or ())
    text = said(scheduled.sees("/schedules"))
    assert "Job 2 of this schedule has not ended: it is queued." in text
    assert "nothing is enqueued until then (overlap: skip)" in text
    assert "Enqueue another beside job 2" in text
    assert scheduled.does("/schedules/run", name="nightly").status_code == 409
    assert scheduled.does("/schedules/run", name="nightly", beside="1").status_code == 303
    for running in (2, 3):
        store.stop(running)
    assert "has not ended" not in said(scheduled.sees("/schedules"))
    assert scheduled.does("/schedules/run", name="x").status_code == 404
    scheduled.does("/schedules/pause", name="nightly", reason="holidays")
    text = said(scheduled.sees("/schedules"))
    assert "holidays by root" in text
    assert "None until it is resumed." in text
    assert store.enqueue_reserved(NewJob(task="report"), by="schedule:nightly") == ()
    scheduled.does("/schedules/resume", name="nightly")
    assert "holidays" not in said(scheduled.sees("/schedules"))


def test_the_fleet_shows_a_worker_being_drained(root: Visitor, store: Store) -> None:
    worker = make_worker(store, timedelta(minutes=1))
    job = make_job(store, "work")
    promote(store)
    held = worker.claim_one()
    text = root.sees("/fleet")
    assert f'href="/jobs/{job}"' in text
    assert "s left" in said(text)
    answer = root.does(f"/workers/{worker.id}/drain", to="fleet", reason="new host")
    assert answer.headers["location"] == "/fleet"
    assert "draining" in said(root.sees("/fleet"))
    worker.finish(held)
    assert "Empty: it is about to exit." in said(root.sees("/fleet"))


def test_viewers_share_what_is_read_after_they_asked(
    client: Client, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, reads = attention.read_attention, 0
    has_read, may_end = asyncio.Event(), asyncio.Event()

    async def counted(caller: AuthorizedClient) -> attention.Attention:
        nonlocal reads
        reads += 1
        found = await read(caller)
        has_read.set()
        await may_end.wait()
        return found

    monkeypatch.setattr(attention, "read_attention", counted)
    monkeypatch.setattr(attention, "_PAUSE", 0)
    caller = AuthorizedClient(client, Principal("vic", Role.VIEWER))
    attentions = attention.Attentions()

    async def ask() -> int:
        return len((await attentions.of(caller, fresh=True)).pauses)

    async def watch() -> None:
        first, gone = asyncio.create_task(ask()), asyncio.create_task(ask())
        await has_read.wait()
        gone.cancel()
        await asyncio.to_thread(store.pause_dispatch, "queue", "mail")
        later = [asyncio.create_task(ask()) for _ in range(20)]
        await asyncio.sleep(0)
        may_end.set()
        assert await first == 0
        assert await asyncio.gather(*later) == [1] * 20, "not what was read before they asked"
        assert reads == 2
        await client.aclose()

    asyncio.run(watch())
