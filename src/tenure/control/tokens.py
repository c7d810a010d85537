"""Bearer tokens: drawn here, given to whoever is to have one, and kept by nobody.

The database knows the digest of a token, which tells nothing of it: it is 32 random bytes.
"""

import hashlib
import secrets
from datetime import timedelta

from tenure.control.behalf import Behalf
from tenure.control.client import Client, as_tenant
from tenure.domain.principal import Principal, Role
from tenure.domain.tenant import DEFAULT, Tenant
from tenure.errors import NotRecognized
from tenure.store.call import Call
from tenure.store.calls import controlling
from tenure.store.results import Token

PREFIX = "tenure_"  # so that people and scanners know one when they see it
_LONGEST = 200  # what is longer is no token, and not worth a digest


def make_token(
    asker: Client | Behalf,
    name: str,
    role: Role,
    *,
    tenant: Tenant | str | None = None,
    lifetime: timedelta | None = None,
) -> tuple[str, Token]:
    """A new token, to be shown once, and what is kept of it.

    It is for the asker's tenant if no other is named; only an admin of the default tenant may.
    Without a lifetime it does not expire.
    """
    secret, call = _drawn(asker, name, role, tenant, lifetime)
    return secret, asker.store.send(call) if isinstance(asker, Client) else asker.send(call)


async def amake_token(
    asker: Client | Behalf,
    name: str,
    role: Role,
    *,
    tenant: Tenant | str | None = None,
    lifetime: timedelta | None = None,
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


def digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def _drawn(
    asker: Client | Behalf,
    name: str,
    role: Role,
    tenant: Tenant | str | None,
    lifetime: timedelta | None,
) -> tuple[str, Call[Token]]:
    secret = PREFIX + secrets.token_urlsafe(32)
    home = DEFAULT if isinstance(asker, Client) else asker.principal.tenant
    place = home if tenant is None else as_tenant(tenant)
    return secret, controlling.create_token(name, role, place, digest(secret), lifetime)


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
