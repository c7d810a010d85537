"""The web app: the REST API and the dashboard, to be served or mounted in another app."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from fastapi import FastAPI

from tenure.control.client import Client
from tenure.domain.principal import Role
from tenure.web import api
from tenure.web.authentication import AuthenticationMiddleware
from tenure.web.context import AppState
from tenure.web.dashboard import Dashboard, Sessions
from tenure.web.errors import handle
from tenure.web.limits import RequestLimits
from tenure.web.openapi import describe
from tenure.web.origins import Hosts
from tenure.web.principals import Authenticate, Authenticator
from tenure.web.request_guard import RequestGuard


def create_app(
    client: Client,
    *,
    authenticate: Authenticate | None = None,
    open_to: Role | None = None,
    limits: RequestLimits | None = None,
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
    authenticator = Authenticator(client, authenticate, open_to, known)
    state = AppState(client, authenticator, limits or RequestLimits())

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await state.close()
            await client.aclose()

    app = FastAPI(
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.tenure = state
    for router in api.ROUTERS:
        app.router.routes.extend(router.routes)
    handle(app)
    describe(app)
    app.add_middleware(
        AuthenticationMiddleware, authenticator=authenticator, requests=state.requests
    )
    sessions = Sessions(client, authenticate, open_to, known)
    app.add_middleware(Dashboard, sessions=sessions, requests=state.requests)
    app.add_middleware(RequestGuard)
    return app
