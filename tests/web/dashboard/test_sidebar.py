"""The numbers of the sidebar: current on every open page, and read once for all of them."""

import asyncio
from contextlib import aclosing
from datetime import timedelta

import pytest
from playwright.sync_api import expect

from tenure.control.authorized_client import AuthorizedClient
from tenure.control.client import Client
from tenure.control.subscription import Subscription
from tenure.domain.principal import Principal, Role
from tenure.store.store import Store
from tenure.web.dashboard import attention, sidebar
from tests.factories import make_job, make_worker, promote
from tests.web.dashboard.browser import PATIENCE, needs_chromium
from tests.web.dashboard.stage import Stage, looks


def test_all_pages_share_one_reading_and_get_what_changed(
    client: Client, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, reads = attention.read_attention, 0

    async def counted(caller: AuthorizedClient) -> attention.Attention:
        nonlocal reads
        reads += 1
        return await read(caller)

    monkeypatch.setattr(attention, "read_attention", counted)
    monkeypatch.setattr(sidebar, "BREATH", 0.05)
    caller = AuthorizedClient(client, Principal("vic", Role.VIEWER))
    sidebars = sidebar.Sidebars(attention.Attentions())
    jobs = [make_job(store) for _ in range(2)]
    promote(store)
    make_worker(store, timedelta(days=1)).claim(2)

    async def watch() -> None:
        async with Subscription(client) as subscription:
            pages = [sidebars.changes(caller, subscription) for _ in range(20)]
            first = await asyncio.gather(*map(anext, pages))
            assert set(first) == {b"event: counts\ndata: {}\n\n"}
            before = reads
            later = [asyncio.ensure_future(anext(page)) for page in pages]
            await asyncio.to_thread(store.stop, jobs[0], reason="now")
            for event in await asyncio.gather(*later):
                assert b'"/stops":{"n":"1","tone":"busy","text":"1 stop in progress"}' in event
            assert reads - before < 10, "not one for each page"
            for page in pages:
                await page.aclose()
            await asyncio.sleep(0.2)
            after = reads
            await asyncio.to_thread(store.stop, jobs[1], reason="now")
            await asyncio.sleep(1.5)
            assert reads == after, "nobody looks"
            async with aclosing(sidebars.changes(caller, subscription)) as again:
                assert b"2 stops in progress" in await anext(again)
        await client.aclose()

    asyncio.run(watch())


@needs_chromium
@pytest.mark.parametrize("path", ["/audit", "/jobs", "/fleet"])
def test_a_number_appears_and_goes_on_a_page_that_is_open(stage: Stage, path: str) -> None:
    page = stage.opens("root", Role.ADMIN, path=path)
    expect(page.locator("h1")).to_be_visible()
    link = page.locator(".side [data-counted='/queues']")
    count = link.locator(".count")
    expect(count).to_have_count(0)
    taken = looks(page)
    stage.store.pause_dispatch("queue", "mail", reason="closed")
    expect(count).to_have_text("1", timeout=PATIENCE)
    expect(count).to_have_attribute("title", "1 queue paused")
    assert "care" in (count.get_attribute("class") or "")
    stage.store.pause_dispatch("queue", "post", reason="closed")
    expect(count).to_have_text("2", timeout=PATIENCE)
    for name in ("mail", "post"):
        stage.store.resume_dispatch("queue", name)
    expect(count).to_have_count(0, timeout=PATIENCE)
    expect(link).to_have_text("Queues")
    if path == "/audit":
        assert not taken, "a page that never changes is not fetched again"
