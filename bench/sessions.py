"""Sessions of the page, for those who are measured as viewers."""

import secrets

from tenure.control.client import Client
from tenure.control.tokens import digest, make_token
from tenure.domain.principal import Role


def viewer_session(client: Client, name: str) -> str:
    """Log in a new viewer; what its cookie holds."""
    token, _ = make_token(client, name, Role.VIEWER)
    session = secrets.token_urlsafe(32)
    client.store.log_in(digest(token), digest(session))
    return session
