"""A database, a server, a worker and a browser that the scenes of one file share."""

from collections.abc import Iterator
from contextlib import contextmanager

import httpx
from playwright.sync_api import Browser, BrowserContext, Page, Request

from tenure.control.client import Client
from tenure.control.tokens import make_token
from tenure.domain.principal import Role
from tenure.domain.tenant import Tenant
from tenure.store.store import Store
from tests.web.dashboard.browser import PATIENCE, Server

APP = "tests.apps.paged:app"


class Stage:
    def __init__(self, url: str, server: Server, browser: Browser, client: Client) -> None:
        self.url = url
        self.server = server
        self.client = client
        self.store: Store = client.store
        self._browser = browser
        self._contexts: list[BrowserContext] = []
        self._problems: list[str] = []

    @property
    def artifacts(self) -> str:
        """Where the server looks for the artifacts of jobs."""
        return self.server.artifacts

    def opens(
        self,
        name: str,
        role: Role = Role.OPERATOR,
        path: str = "/",
        tenant: str = "default",
        **how: object,
    ) -> Page:
        """A browser of somebody who has logged in."""
        secret, _ = make_token(self.client, name, role, tenant=tenant)
        context = self._browser.new_context(base_url=self.server.address, **how)  # type: ignore[arg-type]
        self._contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: self._problems.append(str(error)))
        page.on("console", lambda told: self._note(told.text))
        page.goto(path)
        page.get_by_label("Token").fill(secret)
        page.get_by_role("button", name="Log in").click()
        return page

    def logs_in(self, secret: str) -> bool:
        answer = httpx.post(f"{self.server.address}/login", data={"token": secret})
        return answer.status_code == 303

    @contextmanager
    def store_of(self, tenant: str) -> Iterator[Store]:
        with Store(self.url, tenant=Tenant(tenant)) as store:
            yield store

    def clear(self) -> None:
        """Send all away; nothing of ours went wrong in their browsers."""
        for context in self._contexts:
            context.close()
        problems, self._contexts, self._problems = self._problems, [], []
        assert not problems

    def _note(self, text: str) -> None:
        """What the policy forbids is our fault; that a server is away is the test's."""
        if "Content Security Policy" in text:
            self._problems.append(text)


def stop(page: Page, what: str, reason: str) -> None:
    page.locator("summary", has_text=what).click()
    form = page.locator("details.act[open] form")
    form.get_by_label("Reason").fill(reason)
    form.get_by_role("button", name=what).click()


def is_look(request: Request) -> bool:
    """Whether a page fetches what is new."""
    return "x-fragment" in request.headers


def looks(page: Page) -> list[str]:
    """The looks that a page takes from now on."""
    found: list[str] = []

    def note(request: Request) -> None:
        if is_look(request):
            found.append(request.url)

    page.on("request", note)
    return found
