"""Who asks: by a token, by a hook of your own, or anybody if that was said."""

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
TRUSTED_FOR = 1.0  # seconds, after which a token is looked up again
_MOST = 1000  # tokens that are remembered


class Authenticator:
    """Finds the principal of a request; who has a token that was just seen costs no query."""

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
        self._anybody = None if open_to is None else self._caller(Principal(ANONYMOUS, open_to))
        self._seen: OrderedDict[bytes, tuple[float, AuthorizedClient]] = OrderedDict()
        self.refused = 0  # requests that came with no token, or with one that is not valid

    async def authenticate(self, request: Request) -> AuthorizedClient:
        try:
            return await self._authenticated(request)
        except NotRecognized:
            self.refused += 1
            raise

    def is_sent_by_browser(self, request: Request) -> bool:
        """Return whether a browser may have sent it for another site: it brings no bearer token."""
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
        if self._anybody is not None:
            self.hosts.require(request)
            return self._anybody
        raise NotRecognized("nobody knows who asks; send a token: Authorization: Bearer ...")

    def _secret(self, request: Request) -> str | None:
        """The token that a request brings."""
        header = request.headers.get("authorization")
        return None if header is None else _bearer(header)

    async def _of_token(self, secret: str) -> AuthorizedClient:
        now, known_by = time.monotonic(), digest(secret)
        until, caller = self._seen.get(known_by, (0.0, None))
        if caller is None or until <= now:
            self._seen.pop(known_by, None)
            caller = self._caller(await self._look_up(secret))
            self._seen[known_by] = now + TRUSTED_FOR, caller
            while len(self._seen) > _MOST:
                self._seen.popitem(last=False)
        return caller

    async def _look_up(self, secret: str) -> Principal:
        return await arecognize(self._client, secret)

    def _forget(self, secret: str) -> None:
        self._seen.pop(digest(secret), None)

    def _caller(self, principal: Principal) -> AuthorizedClient:
        if not isinstance(principal, Principal):
            raise TypeError(f"authenticate= gave {type(principal).__name__} and not a Principal")
        return AuthorizedClient(self._client, dataclasses.replace(principal, via=self.via))


def _bearer(header: str) -> str:
    scheme, _, secret = header.partition(" ")
    if scheme.lower() != "bearer" or not secret.strip():
        raise NotRecognized("the header Authorization is not of the form: Bearer <token>")
    return secret.strip()
