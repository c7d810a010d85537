"""Sessions of the page: one for each login, ended by itself or with its token."""

import hashlib

import psycopg
import pytest

from tenure.domain.principal import Role
from tenure.domain.tenant import DEFAULT, Tenant
from tenure.errors import InputRefused, KeyTaken
from tenure.store.migrating import Migrator
from tenure.store.store import Store

VIC = {"name": "vic", "role": "viewer", "tenant": "default"}


def digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


@pytest.fixture
def token(store: Store) -> int:
    return store.create_token("vic", Role.VIEWER, DEFAULT, digest("token")).id


def test_a_session_stands_for_its_token(store: Store, token: int) -> None:
    assert store.log_in(digest("token"), digest("session")) == VIC
    assert store.session_principal(digest("session")) == VIC
    assert store.session_principal(digest("token")) is None
    assert store.principal(digest("session")) is None


def test_a_session_ends_alone(store: Store, token: int) -> None:
    for name in ("here", "there"):
        store.log_in(digest("token"), digest(name))
    assert store.log_out(digest("here")) == {"ended": True}
    assert store.log_out(digest("here")) == {"ended": False}
    assert store.session_principal(digest("here")) is None
    assert store.session_principal(digest("there")) == VIC
    assert store.principal(digest("token")) == VIC


def test_all_sessions_end_with_their_token(store: Store, database: str, token: int) -> None:
    store.log_in(digest("token"), digest("session"))
    store.revoke_token(token)
    assert store.session_principal(digest("session")) is None
    assert store.log_in(digest("token"), digest("another")) is None


def test_a_code_logs_in_once(store: Store, token: int, sql: psycopg.Connection) -> None:
    assert store.create_login_code(digest("token"), digest("code")) == VIC
    assert store.log_in_by_code(digest("code"), digest("session")) == VIC
    assert store.session_principal(digest("session")) == VIC
    assert store.log_in_by_code(digest("code"), digest("again")) is None
    assert store.create_login_code(digest("no token"), digest("other")) is None
    assert store.log_in_by_code(digest("other"), digest("again")) is None
    store.create_login_code(digest("token"), digest("old"))
    sql.execute("UPDATE tenure.login_code SET expires_at = tenure.now()")
    assert store.log_in_by_code(digest("old"), digest("again")) is None
    store.create_login_code(digest("token"), digest("revoked"))
    store.revoke_token(token)
    assert store.log_in_by_code(digest("revoked"), digest("again")) is None


@pytest.mark.parametrize("table", ["bearer", "session"])
def test_a_session_lasts_no_longer_than_it_may(
    store: Store, database: str, token: int, table: str
) -> None:
    store.log_in(digest("token"), digest("session"))
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute(
            f"UPDATE tenure.{table} SET created_at = created_at - interval '91 days',"
            " expires_at = expires_at - interval '91 days'".encode()
        )
    assert store.session_principal(digest("session")) is None


def test_nobody_logs_in_without_a_token(store: Store, token: int) -> None:
    assert store.log_in(digest("guess"), digest("session")) is None
    assert store.session_principal(digest("session")) is None


def test_a_token_has_a_hundred_sessions_at_most(store: Store, token: int) -> None:
    for number in range(102):
        store.log_in(digest("token"), digest(str(number)))
    alive = [n for n in range(102) if store.session_principal(digest(str(n))) is not None]
    assert alive == list(range(2, 102))


def test_what_is_no_digest_is_refused(store: Store, token: int) -> None:
    with pytest.raises(InputRefused, match="32 bytes of a SHA-256"):
        store.log_in(digest("token"), b"short")
    store.log_in(digest("token"), digest("session"))
    with pytest.raises(KeyTaken, match="draw a new one"):
        store.log_in(digest("token"), digest("session"))


def test_a_tenant_that_is_dropped_takes_its_sessions_with_it(store: Store, database: str) -> None:
    Migrator(database).migrate(Tenant("acme"))
    store.create_token("bob", Role.ADMIN, Tenant("acme"), digest("token"))
    store.log_in(digest("token"), digest("session"))
    Migrator(database).drop(Tenant("acme"))
    assert store.session_principal(digest("session")) is None
