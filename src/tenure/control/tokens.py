"""Bearer tokens: generated here, shown once, and stored nowhere.

The database stores the SHA-256 of a token, which is 32 random bytes.
"""

import hashlib
import secrets
from datetime import timedelta

from tenure.control.authorized_client import AuthorizedClient
from tenure.control.client import Client, as_tenant
from tenure.control.operation import Operation
from tenure.domain.principal import TOKEN_LIFETIME, Principal, Role
from tenure.domain.tenant import DEFAULT, Tenant
from tenure.errors import NotRecognized
from tenure.store.calls import control_calls
from tenure.store.results import Token

PREFIX = "tenure_"  # so that people and secret scanners recognize a token
_LONGEST = 200  # characters; anything longer is no token


def make_token(
    asker: Client | AuthorizedClient,
    name: str,
    role: Role = Role.VIEWER,
    *,
    tenant: Tenant | str | None = None,
    lifetime: timedelta | None = TOKEN_LIFETIME,
) -> tuple[str, Token]:
    """Create a token; return its secret, to be shown once, and its record.

    It is for the tenant of the asker; only an admin of the default tenant may name another. With
    None for a lifetime it never expires.
    """
    return asker.perform(new_token(asker, name, role, tenant, lifetime))


def new_token(
    asker: Client | AuthorizedClient,
    name: str,
    role: Role,
    tenant: Tenant | str | None,
    lifetime: timedelta | None,
) -> Operation[tuple[str, Token]]:
    """Return the operation of ``make_token``, for async code."""
    secret = PREFIX + secrets.token_urlsafe(32)
    home = DEFAULT if isinstance(asker, Client) else asker.principal.tenant
    place = home if tenant is None else as_tenant(tenant)
    token: Token = yield control_calls.create_token(name, role, place, digest(secret), lifetime)
    return secret, token


def recognize(client: Client, secret: str, *, via: str = "python") -> Principal:
    """Return the principal of a token; NotRecognized if it is unknown, expired or revoked."""
    _refuse_unlikely(secret)
    return _principal(client.store.principal(digest(secret)), via)


async def arecognize(client: Client, secret: str, *, via: str = "python") -> Principal:
    _refuse_unlikely(secret)
    store = await client.astore_of()
    return _principal(await store.principal(digest(secret)), via)


async def alog_in(client: Client, secret: str) -> str:
    """Begin a session of the dashboard by a token; return its secret for the browser."""
    _refuse_unlikely(secret)
    session = secrets.token_urlsafe(32)
    store = await client.astore_of()
    if await store.log_in(digest(secret), digest(session)) is None:
        raise _not_recognized()
    return session


def make_login_code(client: Client, secret: str) -> str:
    """Make a code that logs a browser in once, within an hour, as the owner of this token."""
    _refuse_unlikely(secret)
    code = secrets.token_urlsafe(16)  # used once and soon, so it can be short enough for a line
    if client.store.create_login_code(digest(secret), digest(code)) is None:
        raise _not_recognized()
    return code


async def alog_in_by_code(client: Client, code: str) -> str:
    """Begin a session of the dashboard by a code, which is used up; return its secret."""
    session = secrets.token_urlsafe(32)
    store = await client.astore_of()
    is_likely = len(code) <= _LONGEST and code.isascii()
    if not is_likely or await store.log_in_by_code(digest(code), digest(session)) is None:
        raise NotRecognized("the code of this link was used or is too old")
    return session


async def alog_out(client: Client, session: str) -> None:
    """End this session; others of its token continue."""
    await (await client.astore_of()).log_out(digest(session))


async def arecognize_session(client: Client, session: str) -> Principal:
    """Return the principal of a session; NotRecognized if it or its token has ended."""
    if len(session) > _LONGEST or not session.isascii():
        raise _not_recognized()
    store = await client.astore_of()
    return _principal(await store.session_principal(digest(session)), "dashboard")


def digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def _refuse_unlikely(secret: str) -> None:
    if not (secret.startswith(PREFIX) and secret.isascii() and len(secret) <= _LONGEST):
        raise _not_recognized()


def _principal(known: dict[str, str] | None, via: str) -> Principal:
    if known is None:
        raise _not_recognized()
    return Principal(known["name"], Role(known["role"]), Tenant(known["tenant"]), via)


def _not_recognized() -> NotRecognized:
    """Return one message for every cause, so that guessing reveals nothing."""
    return NotRecognized("the token is not valid; ask an admin for a new one")
