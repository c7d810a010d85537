"""Another site in a real browser, before a server that is open to all."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tenure.domain.principal import Role
from tenure.store.store import Store
from tests.cli.servers import serving
from tests.web.dashboard.browser import ARGUMENTS, CHROMIUM, PATIENCE, needs_chromium

pytestmark = needs_chromium

# Everything by which a site can make a browser send a request that changes something.
ATTACK = """async (address) => {
    const asked = [
        [`${address}/api/queues/default/pause`, undefined, 'text/plain'],
        [`${address}/api/tokens`, '{"name": "mallory", "role": "admin"}', 'text/plain'],
        [`${address}/api/tokens`, '{"name": "mallory", "role": "admin"}', 'application/json'],
    ];
    const told = [];
    for (const [path, body, kind] of asked) {
        for (const mode of ['no-cors', 'cors']) {
            const headers = {'content-type': kind};
            const options = {method: 'POST', mode, body, headers, credentials: 'include'};
            await fetch(path, options).then(
                (answer) => told.push(answer.type), () => told.push('failed'));
        }
        await navigator.sendBeacon(path, body);
    }
    return told;
}"""
FORM = """(address) => {
    document.body.innerHTML =
        `<form method="post" action="${address}/api/queues/default/pause"></form>`;
    document.forms[0].submit();
}"""


class _Site(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>evil</title><body>")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def evil() -> Iterator[str]:
    """The address of another site."""
    site = ThreadingHTTPServer(("127.0.0.1", 0), _Site)
    thread = threading.Thread(target=site.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{site.server_address[1]}"
    finally:
        site.shutdown()
        thread.join(20)
        site.server_close()


def test_another_site_cannot_act_through_a_browser(
    browser: Browser, evil: str, store: Store, database: str, tmp_path: Path
) -> None:
    with serving(database, tmp_path, "--open", str(Role.ADMIN)) as server:
        context = browser.new_context()
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(server.url)  # so that it has every cookie there is
        page.goto(evil)
        told = page.evaluate(ATTACK, server.url)
        # An answer that it cannot read at best; it never knows what happened.
        assert set(told) <= {"opaque", "failed"}
        with page.expect_navigation():
            page.evaluate(FORM, server.url)
        assert "another site" in page.content()
        context.close()
    assert store.audit_log() == ()
    assert store.tokens() == ()


def test_a_name_of_another_site_that_leads_here_is_refused(
    browser: Browser, store: Store, database: str, tmp_path: Path
) -> None:
    """DNS rebinding: to the browser it is one and the same site."""
    with serving(database, tmp_path, "--open", str(Role.ADMIN)) as server:
        port = server.url.rpartition(":")[2]
        rebound = browser.browser_type.launch(
            executable_path=CHROMIUM,
            args=[*ARGUMENTS, "--host-resolver-rules=MAP evil.example 127.0.0.1"],
        )
        page = rebound.new_page()
        page.set_default_timeout(PATIENCE)
        answer = page.goto(f"http://evil.example:{port}/jobs")
        assert answer is not None
        assert answer.status == 403
        code = page.evaluate(
            """async () => (await fetch('/api/tokens', {method: 'POST',
                headers: {'content-type': 'application/json'},
                body: '{"name": "mallory", "role": "admin"}'})).status"""
        )
        assert code == 403
        rebound.close()
    assert store.tokens() == ()
