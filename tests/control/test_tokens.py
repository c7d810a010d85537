"""Tokens from the outside: drawn once, recognized until they are not valid any more."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta

import psycopg
import pytest

from tenure.control.authorized_client import AuthorizedClient
from tenure.control.client import Client
from tenure.control.tokens import arecognize, make_token, new_token, recognize
from tenure.domain.principal import Principal, Role
from tenure.domain.tenant import DEFAULT, Tenant
from tenure.errors import NotAllowed, NotRecognized
from tenure.store import schema
from tenure.testing import Clock

ACME = Tenant("acme")


@pytest.fixture
def client(database: str) -> Iterator[Client]:
    with Client(database) as client:
        yield client


def test_whoever_brings_a_token_is_recognized(client: Client) -> None:
    secret, token = make_token(client, "ann", Role.OPERATOR, lifetime=timedelta(hours=1))
    assert secret.startswith("tenure_")
    assert len(secret) == len("tenure_") + 43, "32 random bytes"
    assert (token.name, token.role, token.tenant) == ("ann", Role.OPERATOR, "default")
    assert recognize(client, secret) == Principal("ann", Role.OPERATOR, DEFAULT)
    assert recognize(client, secret, via="cli").via == "cli"
    other, lasting = make_token(client, "ann", Role.OPERATOR)
    assert other != secret
    assert lasting.expires_at == lasting.created_at + timedelta(days=90)
    assert make_token(client, "ann", Role.VIEWER, lifetime=None)[1].expires_at is None


def test_the_same_in_async_code(database: str) -> None:
    async def scene() -> None:
        async with Client(database) as client:
            secret, _ = await client.aperform(new_token(client, "ann", Role.VIEWER, None, None))
            assert (await arecognize(client, secret)).role is Role.VIEWER
            admin = AuthorizedClient(client, Principal("root", Role.ADMIN))
            mine, token = await admin.aperform(new_token(admin, "bob", Role.ADMIN, None, None))
            assert (await arecognize(client, mine)).name == "bob"
            assert token.created_by == "root"
            with pytest.raises(NotRecognized):
                await arecognize(client, secret + "x")

    asyncio.run(scene())


def test_what_is_wrong_with_a_token_is_not_said(client: Client, clock: Clock) -> None:
    unknown = "tenure_" + "x" * 43
    expired, _ = make_token(client, "ann", Role.ADMIN, lifetime=timedelta(seconds=1))
    clock.advance(timedelta(seconds=2))
    revoked, token = make_token(client, "ann", Role.ADMIN)
    client.store.revoke_token(token.id)
    sentences = set()
    for secret in (unknown, expired, revoked, "", "ann", "tenure_\udcff", "tenure_é", "x" * 10**6):
        with pytest.raises(NotRecognized) as refusal:
            recognize(client, secret)
        sentences.add(str(refusal.value))
    assert sentences == {"the token is not valid; ask an admin for a new one"}


def test_the_tenant_comes_from_the_token(client: Client, sql: psycopg.Connection) -> None:
    schema.migrate(sql, ACME)
    secret, _ = make_token(client, "ann", Role.ADMIN, tenant="acme")
    principal = recognize(client, secret)
    assert principal.tenant == ACME
    theirs = AuthorizedClient(client, principal)
    own, _ = make_token(theirs, "bob", Role.VIEWER)
    assert recognize(client, own).tenant == ACME
    with pytest.raises(NotAllowed, match="may not create a token of tenant default"):
        make_token(theirs, "bob", Role.ADMIN, tenant=DEFAULT)


def test_only_an_admin_makes_one_and_a_refusal_is_on_record(client: Client) -> None:
    operator = AuthorizedClient(client, Principal("ann", Role.OPERATOR, via="rest"))
    with pytest.raises(NotAllowed, match="ann is an operator and may not create token"):
        make_token(operator, "ann", Role.ADMIN)
    (row,) = client.store.audit_log()
    assert (row.verb, row.actor, row.via) == ("refuse", "ann", "rest")
    assert row.after == {"verb": "create_token"}
    assert client.store.tokens() == ()


def test_a_token_is_shown_by_nothing_that_describes_it(client: Client) -> None:
    secret, token = make_token(client, "ann", Role.ADMIN)
    assert secret not in repr(token)
    assert secret not in repr(recognize(client, secret))
    assert secret not in str(client.store.audit_log())
