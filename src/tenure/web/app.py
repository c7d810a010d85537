"""The web app: the REST API and the page, to be served or mounted in an app of your own."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from fastapi import FastAPI

from tenure.control.client import Client
from tenure.domain.principal import Role
from tenure.web import api
from tenure.web.asking import Shared
from tenure.web.entrance import Entrance
from tenure.web.errors import handle
from tenure.web.front import Front
from tenure.web.limits import Limits
from tenure.web.openapi import describe
from tenure.web.page import Page, Sessions
from tenure.web.principals import Authenticate, Recognizer
from tenure.web.sites import Hosts


def create_app(
    client: Client,
    *,
    authenticate: Authenticate | None = None,
    open_to: Role | None = None,
    limits: Limits | None = None,
    hosts: Iterable[str] = (),
) -> FastAPI:
    """Return the REST API and the dashboard as an ASGI app, for the jobs of this client.

    Requests need a token, unless ``authenticate`` recognizes them: an async function that takes the
    request and returns a Principal or None. With ``open_to``, requests without a token act as
    "anonymous", in this role of the default tenant.

    A request without a token must name a known host: localhost, an IP address, one of the setting
    ``hosts``, or one of ``hosts`` here.

    Mounted in another app, it opens connections at the first use; close the client to close them.
    """
    named = [name for name in (client.settings.hosts or "").split(",") if name]
    known = Hosts([*named, *hosts], is_strict=bool(named))
    recognizer = Recognizer(client, authenticate, open_to, known)
    shared = Shared(client, recognizer, limits or Limits())

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await shared.close()
            await client.aclose()

    app = FastAPI(
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.tenure = shared
    for routes in api.ROUTES:
        app.router.routes.extend(routes.routes)
    handle(app)
    describe(app)
    app.add_middleware(Entrance, recognizer=recognizer, under_way=shared.under_way)
    sessions = Sessions(client, authenticate, open_to, known)
    app.add_middleware(Page, sessions=sessions, under_way=shared.under_way)
    app.add_middleware(Front)
    return app
