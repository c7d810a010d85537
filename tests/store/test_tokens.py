"""Tokens in the database: digests with a name, a role, a tenant, an end; and who may make them."""

from collections.abc import Iterator
from datetime import timedelta
from hashlib import sha256
from typing import Any

import psycopg
import pytest

from tenure.domain.principal import Principal, Role
from tenure.domain.tenant import DEFAULT, Tenant
from tenure.errors import InputRefused, KeyTaken, NotAllowed, NotFound
from tenure.store import schema
from tenure.store.calls import control_calls, queries
from tenure.store.migrating import Migrator
from tenure.store.results import Token
from tenure.store.store import Store
from tenure.testing import Clock

ACME = Tenant("acme")
DAY = timedelta(days=1)


@pytest.fixture
def acme(sql: psycopg.Connection, database: str) -> Iterator[Store]:
    schema.migrate(sql, ACME)
    with Store(database, ACME) as store:
        yield store


def digest(secret: str) -> bytes:
    return sha256(secret.encode()).digest()


def make(store: Store, secret: str = "s", **more: Any) -> Token:
    given: dict[str, Any] = {"name": "ann", "token_role": Role.OPERATOR, "of_tenant": store.tenant}
    return store.create_token(digest=digest(secret), **given | more)


def test_whoever_brings_it_is_known_by_it(store: Store) -> None:
    made = make(store, lifetime=DAY, by="root")
    assert (made.name, made.role, made.tenant) == ("ann", Role.OPERATOR, "default")
    assert made.created_by == "root"
    assert made.expires_at == made.created_at + DAY
    assert (made.revoked_at, made.revoked_by) == (None, None)
    known = {"name": "ann", "role": "operator", "tenant": "default"}
    assert store.principal(digest("s")) == known
    assert store.principal(digest("t")) is None
    assert store.principal(b"") is None
    assert store.tokens() == (made,)


def test_a_token_lasts_for_90_days_by_default(store: Store, sql: psycopg.Connection) -> None:
    assert (made := make(store)).expires_at == made.created_at + 90 * DAY
    call = "SELECT tenure.create_token('bob', 'viewer', %s)"
    [told] = sql.execute(call, (digest("sql"),)).fetchone() or ({},)
    [made] = [one for one in store.tokens() if one.id == told["id"]]
    assert made.expires_at == made.created_at + 90 * DAY
    assert make(store, "forever", lifetime=None).expires_at is None


def test_an_expired_one_is_nobodys(store: Store, clock: Clock) -> None:
    make(store, lifetime=DAY)
    make(store, "forever", lifetime=None)
    clock.advance(DAY - timedelta(seconds=60))
    assert store.principal(digest("s")) is not None
    clock.advance(timedelta(seconds=61))
    assert store.principal(digest("s")) is None
    assert store.principal(digest("forever")) is not None


def test_a_revoked_one_is_nobodys_and_stays_so(store: Store) -> None:
    made = make(store)
    revoked = store.revoke_token(made.id, reason="lost", by="root")
    assert revoked.revoked_by == "root"
    assert store.principal(digest("s")) is None
    assert store.revoke_token(made.id, by="bob") == revoked, "who was first stays on record"
    assert [(row.verb, row.actor, row.reason) for row in store.audit_log("token")] == [
        ("revoke", "root", "lost"),
        ("create", "db:postgres", None),
    ]
    with pytest.raises(NotFound, match="there is no token 4711"):
        store.revoke_token(4711)


def test_nothing_but_the_digest_is_in_the_database(store: Store, sql: psycopg.Connection) -> None:
    made = make(store, "tenure_secret")
    for (table,) in sql.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = 'tenure'::regnamespace AND relkind = 'r'"
    ).fetchall():
        query = f"SELECT count(*) FROM tenure.{table} AS t WHERE t::text LIKE '%tenure_secret%'"
        assert sql.execute(query.encode()).fetchone() == (0,), table
    assert sql.execute("SELECT digest FROM tenure.bearer").fetchone() == (digest("tenure_secret"),)
    seen = sql.execute("SELECT tenure.tokens()::text").fetchone() or ("",)
    assert digest("tenure_secret").hex() not in seen[0]
    assert str(made.id) in seen[0]


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"name": ""}, "1 to 200 characters"),
        ({"name": "x" * 201}, "1 to 200 characters"),
        ({"name": "db:postgres"}, "does not begin with db:"),
        ({"name": "policy:budget"}, "does not begin with db:"),
        ({"name": "job:7"}, "does not begin with db:"),
        ({"name": "ann\nbob"}, "1 to 200 characters"),
        ({"token_role": "emperor"}, "a role is viewer, operator or admin; 'emperor' is none"),
        ({"lifetime": timedelta(0)}, "lasts for longer than 0"),
        ({"lifetime": timedelta(days=-1)}, "lasts for longer than 0"),
        ({"lifetime": timedelta(days=40_000)}, "up to 36500 days"),
    ],
)
def test_what_cannot_be_a_token_is_refused(
    store: Store, wrong: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InputRefused, match=sentence):
        make(store, **wrong)
    assert store.tokens() == ()


def test_a_digest_is_a_digest_and_stands_for_one_token(store: Store) -> None:
    with pytest.raises(InputRefused, match="the 32 bytes of a SHA-256"):
        store.create_token("ann", Role.VIEWER, DEFAULT, b"short")
    make(store)
    with pytest.raises(KeyTaken, match="there is a token with this digest already"):
        make(store, name="bob")
    assert [token.name for token in store.tokens()] == ["ann"]


def test_a_token_of_an_unknown_tenant_is_refused(store: Store) -> None:
    with pytest.raises(NotFound, match="there is no tenant 'nowhere'"):
        make(store, of_tenant=Tenant("nowhere"))


def test_the_default_tenant_makes_them_for_all_and_another_for_itself(
    store: Store, acme: Store
) -> None:
    make(store, "a", of_tenant=ACME)
    make(acme, "b", of_tenant=ACME)
    mine = make(store, "c")
    for secret in "ab":
        assert (store.principal(digest(secret)) or {})["tenant"] == "acme"
    with pytest.raises(NotAllowed, match="may not create a token of tenant default; an admin of"):
        make(acme, "d", of_tenant=DEFAULT)
    (row,) = acme.audit_log("token", "ann")
    assert (row.verb, row.after) == ("refuse", {"verb": "create_token"})
    with pytest.raises(NotFound):
        acme.revoke_token(mine.id)
    assert store.principal(digest("c")) is not None
    assert [token.tenant for token in acme.tokens()] == ["acme", "acme"]
    assert [token.tenant for token in acme.tokens(DEFAULT)] == []
    assert [token.tenant for token in store.tokens()] == ["acme", "acme", "default"]
    assert [token.id for token in store.tokens(DEFAULT)] == [mine.id]
    assert acme.revoke_token(acme.tokens()[0].id).revoked_at is not None


def test_a_dropped_tenant_takes_its_tokens_along(store: Store, acme: Store, database: str) -> None:
    make(store, "a", of_tenant=ACME)
    make(store, "b")
    Migrator(database).drop(ACME, by="root", via="cli")
    assert store.principal(digest("a")) is None
    assert store.principal(digest("b")) is not None
    row = store.audit_log("tenant", "acme")[0]
    assert (row.verb, row.actor, row.via) == ("drop", "root", "cli")


def test_the_schema_refuses_what_no_token_is(store: Store, sql: psycopg.Connection) -> None:
    make(store)
    for change in (
        "role = 'emperor'",
        "digest = 'x'",
        "expires_at = created_at",
        "revoked_at = now()",
        "revoked_by = 'bob'",
    ):
        with pytest.raises(psycopg.errors.CheckViolation):
            sql.execute(f"UPDATE tenure.bearer SET {change}".encode())


def test_tokens_are_an_admins_business(store: Store) -> None:
    ann = Principal("ann", Role.OPERATOR)
    made = make(store)
    for call in (
        control_calls.create_token("eve", Role.ADMIN, DEFAULT, digest("x")),
        control_calls.revoke_token(made.id),
    ):
        with pytest.raises(NotAllowed, match="ann is an operator and may not"):
            store.send(call.asked_by(ann))
    assert store.send(queries.tokens()) == (made,)
