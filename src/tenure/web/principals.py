"""The principal of a request: from its token, from a hook of the app, or anonymous."""

import dataclasses
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable

from starlette.requests import Request

from tenure.control.authorized_client import AuthorizedClient
from tenure.control.client import Client
from tenure.control.tokens import arecognize, digest
from tenure.domain.principal import Principal, Role
from tenure.errors import NotRecognized
from tenure.web.origins import Hosts, refuse_foreign

Authenticate = Callable[[Request], Awaitable[Principal | None]]

VIA = "rest"
ANONYMOUS = "anonymous"
TRUSTED_FOR = 1.0  # seconds until a token is looked up again
_MAX_CACHED = 1000  # tokens


class Authenticator:
    """Find the principal of a request. A recently seen token costs no query."""

    via = VIA

    def __init__(
        self,
        client: Client,
        authenticate: Authenticate | None,
        open_to: Role | None,
        hosts: Hosts,
    ) -> None:
        self._client = client
        self.hosts = hosts
        self._authenticate = authenticate
        self._anonymous = None if open_to is None else self._caller(Principal(ANONYMOUS, open_to))
        self._cached: OrderedDict[bytes, tuple[float, AuthorizedClient]] = OrderedDict()
        self.refused = 0  # requests without a token, or with one that is not valid

    async def authenticate(self, request: Request) -> AuthorizedClient:
        try:
            return await self._authenticated(request)
        except NotRecognized:
            self.refused += 1
            raise

    def is_sent_by_browser(self, request: Request) -> bool:
        """Return whether another site may have made a browser send it: it has no bearer token."""
        return not request.headers.get("authorization", "").lower().startswith("bearer ")

    def refuse_foreign(self, request: Request) -> None:
        if self.is_sent_by_browser(request):
            refuse_foreign(request)
            if self.hosts.is_strict:
                self.hosts.require(request)

    async def _authenticated(self, request: Request) -> AuthorizedClient:
        self.refuse_foreign(request)
        if self._authenticate is not None:
            principal = await self._authenticate(request)
            if principal is not None:
                self.hosts.require(request)
                return self._caller(principal)
        secret = self._secret(request)
        if secret is not None:
            return await self._of_token(secret)
        if self._anonymous is not None:
            self.hosts.require(request)
            return self._anonymous
        raise NotRecognized("a token is needed: Authorization: Bearer ...")

    def _secret(self, request: Request) -> str | None:
        """Return the token of a request."""
        header = request.headers.get("authorization")
        return None if header is None else _bearer(header)

    async def _of_token(self, secret: str) -> AuthorizedClient:
        now, known_by = time.monotonic(), digest(secret)
        until, caller = self._cached.get(known_by, (0.0, None))
        if caller is None or until <= now:
            self._cached.pop(known_by, None)
            caller = self._caller(await self._identify(secret))
            self._cached[known_by] = now + TRUSTED_FOR, caller
            while len(self._cached) > _MAX_CACHED:
                self._cached.popitem(last=False)
        return caller

    async def _identify(self, secret: str) -> Principal:
        return await arecognize(self._client, secret)

    def _forget(self, secret: str) -> None:
        self._cached.pop(digest(secret), None)

    def _caller(self, principal: Principal) -> AuthorizedClient:
        if not isinstance(principal, Principal):
            raise TypeError(f"authenticate must return a Principal, not {type(principal).__name__}")
        return AuthorizedClient(self._client, dataclasses.replace(principal, via=self.via))


def _bearer(header: str) -> str:
    scheme, _, secret = header.partition(" ")
    if scheme.lower() != "bearer" or not secret.strip():
        raise NotRecognized("the header Authorization must have the form: Bearer <token>")
    return secret.strip()
