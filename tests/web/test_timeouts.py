"""PostgreSQL stops working on statements that take too long or whose client is gone."""

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import timedelta
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest

from tenure.config import Settings
from tenure.control.client import Client
from tenure.control.tokens import make_token
from tenure.domain.principal import Principal, Role
from tenure.errors import QueryTimeout
from tenure.store.calls import queries
from tenure.store.store import Store
from tenure.web import create_app
from tests.factories import make_job
from tests.web.http_client import problem
from tests.web.served import served
from tests.workers import eventually

Headers = dict[str, str]


@contextmanager
def api(database: str, **settings: str) -> Iterator[tuple[str, Headers]]:
    """Serve the API; yield its address and the headers of an admin."""
    given = Settings(**settings)  # type: ignore[arg-type]
    with Client(database, settings=given) as client:
        secret, _ = make_token(client, "root", Role.ADMIN)
        with served(create_app(client)) as url:
            yield url, {"authorization": f"Bearer {secret}"}


@contextmanager
def held(database: str, table: str) -> Iterator[None]:
    """Lock the table: all reads and writes wait."""
    with psycopg.connect(database) as holder:
        holder.execute(f"LOCK TABLE tenure.{table} IN ACCESS EXCLUSIVE MODE".encode())
        yield


def at_work(database: str, verb: str) -> int:
    """Return how many backends carry out this verb, as another connection sees it."""
    with psycopg.connect(database, autocommit=True) as other:
        [found] = other.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE %s"
            " AND pid <> pg_backend_pid()",
            (f'%"{verb}"(%',),
        ).fetchone() or (0,)
    return int(found)


def test_a_read_that_takes_too_long_is_cancelled(database: str, store: Store) -> None:
    with (
        api(database, read_timeout="300ms") as (url, headers),
        held(database, "audit"),
        httpx.Client(base_url=url, headers=headers, timeout=20) as http,
    ):
        code, kind, message = problem(http.get("/api/audit"))
        assert (code, kind) == (504, "QueryTimeout")
        assert message.startswith("audit log took longer than 300ms and was cancelled")
        assert at_work(database, "audit_log") == 0
        assert http.get("/api/jobs").status_code == 200, "the connection is as good as new"


def test_a_page_that_takes_too_long_says_so(database: str, store: Store) -> None:
    with api(database, read_timeout="300ms") as (url, headers), held(database, "audit"):
        cookie = {"token": headers["authorization"].partition(" ")[2]}
        with httpx.Client(base_url=url, timeout=20) as browser:
            assert browser.post("/login", data=cookie).status_code == 303
            answer = browser.get("/audit")
        assert answer.status_code == 504
        assert "took longer than 300ms" in answer.text


def test_a_change_has_a_limit_of_its_own(database: str, store: Store) -> None:
    job = make_job(store)
    limits = {"read_timeout": "10s", "write_timeout": "300ms"}
    with api(database, **limits) as (url, headers), held(database, "cancellation"):
        answer = httpx.post(f"{url}/api/jobs/{job}/cancel", headers=headers, timeout=20)
        assert problem(answer)[:2] == (504, "QueryTimeout")
        assert at_work(database, "stop") == 0
    assert not store.show(job).cancel_requested


def test_calls_from_python_and_the_command_line_have_no_limit(database: str, store: Store) -> None:
    settings = Settings(read_timeout="20ms")  # type: ignore[arg-type]
    with Client(database, settings=settings) as client:
        caller = client.acting_as(Principal("ada", Role.VIEWER, via="cli"))
        found: list[object] = []
        with held(database, "audit"):
            reading = threading.Thread(
                target=lambda: found.append(caller.send(queries.audit_log()))
            )
            reading.start()
            eventually(lambda: at_work(database, "audit_log") == 1, "it waits")
            reading.join(0.2)
            assert reading.is_alive()
        reading.join(20)
        assert found == [()]


def test_a_limit_from_plain_code_is_kept_too(database: str, store: Store) -> None:
    call = queries.audit_log().within(timedelta(milliseconds=200))
    with held(database, "audit"), pytest.raises(QueryTimeout, match="longer than 200ms"):
        store.send(call)
    assert store.send(call) == ()


def test_a_shorter_limit_of_the_database_role_stays(database: str, store: Store) -> None:
    mark = "?" if "?" not in database else "&"
    url = f"{database}{mark}options=-cstatement_timeout%3D200ms"
    with Store(url) as limited, held(database, "audit"):
        call = queries.audit_log().within(timedelta(minutes=5))
        with pytest.raises(QueryTimeout):
            limited.send(call)


def test_a_limit_ends_with_its_statement(database: str, store: Store) -> None:
    with Store(database) as limited:
        limited.send(queries.audit_log().within(timedelta(milliseconds=50)))
        with limited._pool.connection(limited.tenant) as opened:
            assert opened.cursor.execute("SHOW statement_timeout").fetchone() == ("0",)


def test_abandoned_searches_hold_no_connection(database: str, store: Store) -> None:
    """More clients than a tenant has connections; each hangs up during its search."""
    make_job(store)
    with api(database, read_timeout="none") as (url, headers), held(database, "payload"):
        place = urlsplit(url)
        search = (
            f"GET /api/jobs?text=x&queue=default HTTP/1.1\r\nhost: localhost\r\n"
            f"authorization: {headers['authorization']}\r\n\r\n"
        )
        with ExitStack() as clients:
            for _ in range(24):
                client = socket.create_connection((place.hostname, place.port), timeout=20)
                clients.enter_context(client).sendall(search.encode())
            eventually(lambda: at_work(database, "list_jobs") == 8, "they have all there are")
        eventually(lambda: at_work(database, "list_jobs") == 0, "PostgreSQL has given them up")
        assert httpx.get(f"{url}/api/audit", headers=headers, timeout=20).status_code == 200


def test_a_change_is_carried_out_even_if_its_client_disconnects(
    database: str, store: Store
) -> None:
    job = make_job(store)
    with api(database) as (url, headers):
        with held(database, "cancellation"):
            with suppress(httpx.TimeoutException):
                httpx.post(
                    f"{url}/api/jobs/{job}/cancel",
                    headers=headers,
                    timeout=httpx.Timeout(20, read=0.5),
                )
            eventually(lambda: at_work(database, "stop") == 1, "it keeps running")
        eventually(lambda: store.show(job).cancelled_by == "root", "it is cancelled")
