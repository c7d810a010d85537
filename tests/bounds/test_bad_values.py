"""Bad values get a sentence at every door: no traceback, no 5xx, and nothing else is stored."""

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tenure import Tenure
from tenure.cli.parsing import value as typed_value
from tenure.control.by_name import job_of
from tenure.errors import InputRefused, TenureError
from tenure.store.store import Store
from tests.bounds.doors import JSON, Doors, dumped
from tests.bounds.edges import nested
from tests.store.roles import Roles

DIGITS = "1" * 5000
DEEP = dumped(nested(3000))


@pytest.mark.parametrize(
    "words",
    [
        *(["job", verb, DIGITS] for verb in ("show", "cancel", "explain", "rerun", "logs")),
        ["job", "show", "9223372036854775808"],
        ["job", "enqueue", "work", f"--after={DIGITS}"],
        ["job", "enqueue", "work", f"--parent={DIGITS}"],
        ["job", "list", f"--parent={DIGITS}"],
        ["job", "list", "--since=999999d"],
        ["job", "list", "--since=1000000000000000d"],
        ["job", "enqueue", "work", "x=1e400"],
        ["job", "enqueue", "work", 'x=[{"y": -1e400}]'],
        ["job", "enqueue", "work", f"x={DIGITS}"],
        ["job", "enqueue", "work", "--args", '{"x": 1e999}'],
        ["job", "enqueue", "work", f"x={DEEP}"],
        ["job", "enqueue", "work", "--args", f'{{"x": {DEEP}}}'],
        ["job", "enqueue", "work", "x=a\udcffb"],
        ["job", "enqueue", "a\udcffb"],
        ["job", "enqueue", "work", "--queue=a\udcffb"],
        ["job", "list", "--queue=a\udcffb"],
        ["job", "show", "a\udcffb"],
        ["token", "revoke", DIGITS],
    ],
    ids=lambda words: " ".join(words).encode("ascii", "replace").decode()[:50],
)
def test_the_command_line_says_what_is_wrong(doors: Doors, words: list[str]) -> None:
    done = doors.cli(*words)
    assert done.code in (1, 2, 10), (done.code, done.err)
    assert "Traceback" not in done.err
    assert 3 < len(done.err.split()) < 200
    assert len(done.err) < 2000
    assert doors.store.list_jobs() == ()


@pytest.mark.parametrize("digits", [DIGITS, "9223372036854775808", "-1"])
def test_an_id_that_no_job_has_is_not_found(doors: Doors, digits: str) -> None:
    for method, path in (
        ("GET", f"/api/jobs/{digits}"),
        ("POST", f"/api/jobs/{digits}/cancel"),
        ("GET", f"/api/jobs?below={digits}"),
        ("GET", f"/api/jobs?parent={digits}"),
        ("GET", f"/api/bulk/{digits}"),
        ("DELETE", f"/api/tokens/{digits}"),
    ):
        answer = doors.http.send(method, path, headers=JSON)
        assert 400 <= answer.status_code < 500, (path[:60], answer.status_code, answer.text)


@pytest.mark.parametrize("length", [DIGITS, "9" * 25])
def test_a_length_of_a_body_that_cannot_be_is_no_error_of_the_server(
    doors: Doors, length: str
) -> None:
    headers = {**JSON, "content-length": length}
    answer = doors.http.send("POST", "/api/jobs", content=b"{}", headers=headers)
    assert answer.status_code < 500


@pytest.fixture
def app(database: str) -> Iterator[Tenure]:
    with Tenure(database) as app:
        yield app


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), 10**400, 10**5000, nested(65), nested(3000), "\ud800", "a\0b"],
    ids=["nan", "infinity", "1e400", "5,000 digits", "65 deep", "3,000 deep", "surrogate", "NUL"],
)
def test_arguments_that_would_not_come_back_are_refused_in_python(
    app: Tenure, store: Store, value: Any
) -> None:
    @app.task(name="work")
    def work(value: Any) -> None:
        """Nobody runs it."""

    for enqueue in (work.enqueue, lambda value: work.enqueue_many([{"value": value}] * 2)):
        with pytest.raises(InputRefused) as refusal:
            enqueue(value)
        assert len(str(refusal.value)) < 2000
    assert store.list_jobs() == ()


@pytest.mark.parametrize(
    "draft",
    [
        {"options": "x"},
        {"options": {"grace": {}}},
        {"budget": "x"},
        {"tags": [["a"], ["b"]]},
        {"task": {"a": 1}},
        {"run_at": "-infinity"},
    ],
    ids=str,
)
def test_a_producers_role_cannot_store_what_no_worker_can_read(
    database: str, store: Store, sql: psycopg.Connection, draft: dict[str, Any]
) -> None:
    roles = Roles(store, sql, database)
    try:
        name, _ = roles.make("producer")
        producer = roles.connection(name)
        with pytest.raises(psycopg.Error) as refusal:
            producer.execute(
                "SELECT tenure.enqueue(%s::jsonb)", [json.dumps({"task": "work", **draft})]
            )
        assert refusal.value.sqlstate == "TN001"
    finally:
        roles.drop()
    assert store.list_jobs() == ()


def test_a_job_of_any_id_that_python_can_write_is_refused_with_a_sentence(store: Store) -> None:
    for number in (1 << 63, -1, 10**400):
        with pytest.raises(TenureError) as refusal:
            store.show(number)
        assert refusal.value.http_status in (404, 422)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 10**400], ids=str)
def test_arguments_by_name_are_refused_and_not_stored_as_null(doors: Doors, value: Any) -> None:
    with pytest.raises(InputRefused, match=r"JSON number|larger than"):
        job_of(doors.client, "work", {"x": [value]}, {})


@pytest.mark.parametrize("text", ["1e400", "[-1e400]", '{"x": 1e400}', "1" * 400])
def test_a_number_that_is_typed_is_read_as_it_is_or_refused(text: str) -> None:
    with pytest.raises(InputRefused, match="is refused"):
        typed_value(text)
