"""How much one may send; and what goes wrong, always in one shape."""

import json
import time
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest

from tenure.config import Settings
from tenure.control.client import Client
from tenure.domain.bounds import MAX_ARGS_BYTES
from tenure.errors import SchemaMismatch, StoreUnavailable
from tenure.store.store import Store
from tenure.web import RequestLimits, create_app, readiness
from tenure.web.limits import _depth_exceeds
from tests.factories import make_job
from tests.web.conftest import Bearer
from tests.web.http_client import Http, asking, problem

JSON = {"content-type": "application/json"}


def test_a_body_that_is_too_large_is_not_read(ada: Http) -> None:
    largest = RequestLimits().body
    text = b'{"task": "a", "args": {"x": "%b"}}' % (b"x" * largest)
    assert problem(ada.send("POST", "/api/jobs", content=text, headers=JSON))[:2] == (
        413,
        "TooLarge",
    )

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(3):
            yield b" " * (largest // 2)

    assert problem(ada.send("POST", "/api/jobs", content=pieces(), headers=JSON))[0] == 413


def test_the_largest_arguments_fit_and_more_do_not(ada: Http, store: Store) -> None:
    room = MAX_ARGS_BYTES - 100
    made = ada.post("/api/jobs", {"task": "a", "args": {"x": "x" * room}})
    assert made.status_code == 201, made.text
    assert len(store.show(1).args["x"]) == room
    code, _, message = problem(
        ada.post("/api/jobs", {"task": "a", "args": {"x": "x" * MAX_ARGS_BYTES}})
    )
    assert code == 422
    assert f"the limit is {MAX_ARGS_BYTES}" in message


def nested(depth: int) -> bytes:
    return b'{"task": "a", "args": {"x": %b%b}}' % (b"[" * depth, b"]" * depth)


@pytest.mark.parametrize("depth", [65, 500, 2000, 100_000])
def test_a_body_that_is_nested_too_deeply_is_refused(ada: Http, depth: int) -> None:
    code, _, message = problem(ada.send("POST", "/api/jobs", content=nested(depth), headers=JSON))
    assert (code, message) == (422, "the body has more than 66 levels of nesting")


def test_a_body_that_is_nested_as_deeply_as_it_may_be_is_taken(ada: Http) -> None:
    answer = ada.send("POST", "/api/jobs", content=nested(64), headers=JSON)
    assert answer.status_code == 201
    assert ada.get("/api/jobs/1").status_code == 200


def test_brackets_in_texts_do_not_count() -> None:
    assert not _depth_exceeds(json.dumps({"x": '[{"[{\\"' * 100}).encode(), 2)
    assert _depth_exceeds(b'{"x": ["\\\\", ["]"]]}', 2)
    assert not _depth_exceeds(b'{"x": ["\\\\", ["]"]]}', 3)
    assert not _depth_exceeds(b"[" + b"[],{}," * 1000 + b"[]]", 2)


def test_looking_at_the_depth_of_a_large_body_takes_no_time() -> None:
    began = time.process_time()
    for text in (b"[" + b"[]," * 350_000 + b"[]]", b'["' + b'\\"' * 500_000 + b'"]' + b"[]" * 40):
        _depth_exceeds(text, 64)
    assert time.process_time() - began < 1


def test_only_json_is_read(ada: Http) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        answer = ada.send("POST", "/api/jobs", content=b"task=a", headers={"content-type": kind})
        assert problem(answer)[:2] == (415, "NotJSON")
    kind = "application/merge-patch+json; charset=utf-8"
    body = b'{"task": "a"}'
    assert ada.send("POST", "/api/jobs", content=body, headers={"content-type": kind}).is_success


def test_what_is_not_there_has_the_same_shape(ada: Http) -> None:
    assert problem(ada.get("/nothing")) == (404, "NotFound", "there is nothing at this path")
    wrong = ada.delete("/api/jobs")
    assert problem(wrong) == (405, "MethodNotAllowed", "this path does not take this method")
    assert problem(ada.send("OPTIONS", "/api/jobs"))[0] == 405
    for path in ("/api/jobs/", "/api", "/api/jobs/1/", "/targets/x/jobs/1/resume"):
        assert problem(ada.get(path))[0] in (404, 405), path


def test_an_outage_is_told_without_its_details(
    client: Client, bearer: Bearer, caplog: pytest.LogCaptureFixture
) -> None:
    headers = bearer("ada")
    with asking(create_app(client)) as http:
        store = http.run(client.astore_of())
        for error, words in (
            (
                StoreUnavailable("FATAL: password of shop"),
                "the database cannot be reached, or went",
            ),
            (SchemaMismatch("no function x"), "the database is older or newer than this code"),
        ):

            async def away(call: Any, error: Exception = error) -> Any:
                if call.verb == "principal":
                    return {"name": "ada", "role": "viewer", "tenant": "default"}
                raise error

            store.send = away  # type: ignore[method-assign]
            answer = http.get("/api/jobs/1", headers=headers)
            code, kind, message = problem(answer)
            assert (code, kind) == (503, type(error).__name__)
            assert message.startswith(words)
            assert answer.headers["retry-after"] == "1"
            assert str(error) in caplog.text


def test_a_fault_of_our_own_is_told_without_its_details(
    client: Client, bearer: Bearer, caplog: pytest.LogCaptureFixture
) -> None:
    headers = bearer("ada")
    with asking(create_app(client)) as http:
        store = http.run(client.astore_of())
        send = store.send

        async def broken(call: Any) -> Any:
            if call.verb == "show":
                raise ZeroDivisionError("a secret")
            return await send(call)

        store.send = broken  # type: ignore[method-assign]
        assert problem(http.get("/api/jobs/1", headers=headers)) == (
            500,
            "InternalError",
            "internal error; see the log of the server",
        )
    assert "ZeroDivisionError: a secret" in caplog.text


def test_without_a_database_the_server_lives_and_is_not_ready() -> None:
    nowhere = "postgresql://nobody@127.0.0.1:1/nowhere"
    settings = Settings(connect_timeout="200ms")  # type: ignore[arg-type]
    with Client(nowhere, settings=settings) as client, asking(create_app(client)) as http:
        assert http.get("/healthz").status_code == 200
        code, kind, message = problem(http.get("/readyz"))
        assert (code, kind) == (503, "StoreUnavailable")
        assert "127.0.0.1" not in message


def test_a_database_without_the_schema_is_not_ready(
    empty_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readiness, "CACHED_FOR", 0.0)
    with Client(empty_database) as client, asking(create_app(client)) as http:
        assert problem(http.get("/readyz"))[0] == 503
        client.migrate()
        assert http.get("/readyz").json() == {"status": "ok"}
        with psycopg.connect(empty_database, autocommit=True) as owner:
            owner.execute("DELETE FROM tenure.verbs WHERE scope = 'default'")
        assert problem(http.get("/readyz"))[0] == 503, "as long as a migration is due"


def test_answers_are_neither_stored_nor_guessed_at(ada: Http, store: Store) -> None:
    for path in (f"/api/jobs/{make_job(store)}", "/api/jobs/99"):
        headers = ada.get(path).headers
        assert (headers["cache-control"], headers["x-content-type-options"]) == (
            "no-store",
            "nosniff",
        )
        assert headers["content-type"] == "application/json"
