"""Bearer tokens: drawn here, given to whoever is to have one, and kept by nobody.

The database knows the digest of a token, which tells nothing of it: it is 32 random bytes.
"""

import hashlib
import secrets
from datetime import timedelta

from tenure.control.authorized_client import AuthorizedClient
from tenure.control.client import Client, as_tenant
from tenure.domain.principal import TOKEN_LIFETIME, Principal, Role
from tenure.domain.tenant import DEFAULT, Tenant
from tenure.errors import NotRecognized
from tenure.store.call import Call
from tenure.store.calls import control_calls
from tenure.store.results import Token

PREFIX = "tenure_"  # so that people and scanners know one when they see it
_LONGEST = 200  # what is longer is no token, and not worth a digest


def make_token(
    asker: Client | AuthorizedClient,
    name: str,
    role: Role = Role.VIEWER,
    *,
    tenant: Tenant | str | None = None,
    lifetime: timedelta | None = TOKEN_LIFETIME,
) -> tuple[str, Token]:
    """A new token, to be shown once, and what is kept of it.

    It is for the asker's tenant if no other is named; only an admin of the default tenant may.
    With None for a lifetime it never expires.
    """
    secret, call = _drawn(asker, name, role, tenant, lifetime)
    return secret, asker.store.send(call) if isinstance(asker, Client) else asker.send(call)


async def amake_token(
    asker: Client | AuthorizedClient,
    name: str,
    role: Role = Role.VIEWER,
    *,
    tenant: Tenant | str | None = None,
    lifetime: timedelta | None = TOKEN_LIFETIME,
) -> tuple[str, Token]:
    secret, call = _drawn(asker, name, role, tenant, lifetime)
    if isinstance(asker, Client):
        return secret, await (await asker.astore_of()).send(call)
    return secret, await asker.asend(call)


def recognize(client: Client, secret: str, *, via: str = "python") -> Principal:
    """Whose token this is; NotRecognized when it is unknown, expired or revoked."""
    _refuse_unlikely(secret)
    return _principal(client.store.principal(digest(secret)), via)


async def arecognize(client: Client, secret: str, *, via: str = "python") -> Principal:
    _refuse_unlikely(secret)
    store = await client.astore_of()
    return _principal(await store.principal(digest(secret)), via)


async def alog_in(client: Client, secret: str) -> str:
    """Begin a session of the page by a token; what the browser is to keep, which is no token."""
    _refuse_unlikely(secret)
    session = secrets.token_urlsafe(32)
    store = await client.astore_of()
    if await store.log_in(digest(secret), digest(session)) is None:
        raise _not_recognized()
    return session


def make_login_code(client: Client, secret: str) -> str:
    """Draw a code that logs a browser in once, within an hour, as whoever has this token."""
    _refuse_unlikely(secret)
    code = secrets.token_urlsafe(16)  # it is used up soon, and short enough for a line
    if client.store.create_login_code(digest(secret), digest(code)) is None:
        raise _not_recognized()
    return code


async def alog_in_by_code(client: Client, code: str) -> str:
    """Begin a session of the page by a code, which is used up; what the browser is to keep."""
    session = secrets.token_urlsafe(32)
    store = await client.astore_of()
    is_likely = len(code) <= _LONGEST and code.isascii()
    if not is_likely or await store.log_in_by_code(digest(code), digest(session)) is None:
        raise NotRecognized("the code of this link was used or is too old")
    return session


async def alog_out(client: Client, session: str) -> None:
    """End this session, and no other of its token."""
    await (await client.astore_of()).log_out(digest(session))


async def arecognize_session(client: Client, session: str) -> Principal:
    """Whose session this is; NotRecognized when it has ended, or its token is of no use."""
    if len(session) > _LONGEST or not session.isascii():
        raise _not_recognized()
    store = await client.astore_of()
    return _principal(await store.session_principal(digest(session)), "page")


def digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def _drawn(
    asker: Client | AuthorizedClient,
    name: str,
    role: Role,
    tenant: Tenant | str | None,
    lifetime: timedelta | None,
) -> tuple[str, Call[Token]]:
    secret = PREFIX + secrets.token_urlsafe(32)
    home = DEFAULT if isinstance(asker, Client) else asker.principal.tenant
    place = home if tenant is None else as_tenant(tenant)
    return secret, control_calls.create_token(name, role, place, digest(secret), lifetime)


def _refuse_unlikely(secret: str) -> None:
    if not (secret.startswith(PREFIX) and secret.isascii() and len(secret) <= _LONGEST):
        raise _not_recognized()


def _principal(known: dict[str, str] | None, via: str) -> Principal:
    if known is None:
        raise _not_recognized()
    return Principal(known["name"], Role(known["role"]), Tenant(known["tenant"]), via)


def _not_recognized() -> NotRecognized:
    """One sentence for all that may be wrong with it: whoever guesses learns nothing."""
    return NotRecognized("the token is not valid; ask an admin for a new one")
