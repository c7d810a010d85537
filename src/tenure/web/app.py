"""The web app: the REST API and the page, to be served or mounted in an app of your own."""

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
    """The REST API and the page, for the jobs of this client.

    Whoever asks needs a token, unless ``authenticate`` knows who it is: an async function that is
    given the request and gives a Principal or None. With ``open_to`` requests without a token are
    carried out as "anonymous", in this role of the default tenant.

    Whoever is recognized without a token must have asked for a host that is known: localhost, an
    address, one of the setting ``hosts``, or one of ``hosts`` here.

    Mounted in another app it opens what it needs at the first use; who wants it closed there closes
    the client.
    """
    named = [name for name in (client.settings.hosts or "").split(",") if name]
    known = Hosts([*named, *hosts], is_strict=bool(named))
    authenticator = Authenticator(client, authenticate, open_to, known)
    shared = AppState(client, authenticator, limits or RequestLimits())

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
    app.add_middleware(
        AuthenticationMiddleware, authenticator=authenticator, requests=shared.requests
    )
    sessions = Sessions(client, authenticate, open_to, known)
    app.add_middleware(Dashboard, sessions=sessions, requests=shared.requests)
    app.add_middleware(RequestGuard)
    return app
