"""Every entry point for a value (Python, SQL, CLI, REST), each with the message it refuses by."""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import psycopg

from tenure.control.by_name import enqueued, job_of
from tenure.control.client import Client
from tenure.domain.bounds import OPTIONS
from tenure.domain.duration import duration
from tenure.domain.job import NewJob
from tenure.domain.tenant import DEFAULT
from tenure.errors import TenureError
from tenure.store.store import Store
from tests.cli.running import Cli
from tests.web.http_client import Http

Door = Callable[["Doors", str, Any], None]


class Refusal(Exception):
    """The message with which an entry point refuses a value."""


@dataclass(frozen=True)
class Doors:
    """One database, and every client that can write to it."""

    store: Store
    client: Client
    sql: psycopg.Connection
    http: Http  # an admin
    cli: Cli


def by_job(doors: Doors, field: str, value: Any) -> None:
    """Enqueue from Python, as a NewJob."""
    if field in OPTIONS:
        raise NotImplementedError
    if field == "run_at":
        value = _timestamp(value)
    elif field == "delay":
        value = _length(value)
    _python(lambda: doors.store.enqueue(NewJob(**{"task": "work", field: value})))


def by_name(doors: Doors, field: str, value: Any) -> None:
    """Enqueue from Python by the name of a task, as REST and the command line do."""
    task, args, said = _said(field, value)
    _python(
        lambda: doors.client.perform(enqueued([job_of(doors.client, task, args, said)]), DEFAULT)
    )


def by_async_name(doors: Doors, field: str, value: Any) -> None:
    """Enqueue by the name of a task from async code."""
    task, args, said = _said(field, value)

    async def enqueue() -> None:
        try:
            await doors.client.aperform(enqueued([job_of(doors.client, task, args, said)]), DEFAULT)
        finally:
            await doors.client.aclose()

    _python(lambda: asyncio.run(enqueue()))


def by_sql(doors: Doors, field: str, value: Any) -> None:
    """Enqueue through the SQL verb, as a producer's role calls it."""
    if field == "deadline":  # the verb takes seconds or a timestamp
        value = _length(value)
        value = value.total_seconds() if isinstance(value, timedelta) else value
    if field in OPTIONS:
        value, field = {field: value}, "options"
    job = dumped({"task": "work", field: value})
    sql(doors, "SELECT tenure.enqueue(%s::jsonb)", job)


def by_rest(doors: Doors, field: str, value: Any) -> None:
    if field == "max_attempts":
        raise NotImplementedError
    body = {"task": "work", "unannounced": True, field: value}  # nested value last, for dumped
    if field == "secret":
        body |= {"args": dict.fromkeys(_names(value), 1), "secret": value}
    rest(doors.http.send("POST", "/api/jobs", content=dumped(body), headers=JSON))


FLAGS: Mapping[str, str] = {
    "queue": "--queue",
    "priority": "--priority",
    "delay": "--delay",
    "run_at": "--at",
    "key": "--key",
    "unique": "--unique",
    "idempotency": "--idempotency",
    "target": "--target",
    "tags": "--tag",
    "owner": "--owner",
    "args": "--args",
}
JSON = {"content-type": "application/json"}


def by_cli(doors: Doors, field: str, value: Any) -> None:
    if field == "task":
        cli(doors.cli("job", "enqueue", "--unannounced", "--", *_words(field, value)))
        return
    if field not in FLAGS:
        raise NotImplementedError
    words = [dumped(value)] if field == "args" else _words(field, value)
    flags = [f"{FLAGS[field]}={word}" for word in words]
    cli(doors.cli("job", "enqueue", "work", "--unannounced", *flags))


JOB_DOORS: Mapping[str, Door] = {
    "python": by_job,
    "python by name": by_name,
    "async python": by_async_name,
    "sql": by_sql,
    "rest": by_rest,
    "cli": by_cli,
}


def sql(doors: Doors, statement: str, *values: Any) -> None:
    try:
        doors.sql.execute(statement.encode(), values)
    except psycopg.Error as error:
        # 22: PostgreSQL itself cannot read the string (NUL, or an incomplete character).
        if (error.sqlstate or "22")[:2] not in ("TN", "22"):
            raise
        raise Refusal(error.diag.message_primary or str(error)) from None
    except UnicodeEncodeError as error:
        raise Refusal(f"the driver cannot send it: {error}") from None


def rest(answer: Any) -> None:
    if answer.status_code >= 400:
        assert answer.status_code in (404, 422), (answer.status_code, answer.text)
        raise Refusal(answer.json()["error"]["message"])


def cli(done: Any) -> None:
    assert "Traceback" not in done.err, done.err
    if done.code:
        raise Refusal(done.err)


def _python(call: Callable[[], Any]) -> None:
    try:
        call()
    except TenureError as error:
        if error.http_status not in (404, 422):
            raise
        raise Refusal(str(error)) from None


def _said(field: str, value: Any) -> tuple[Any, Any, dict[str, Any]]:
    if field == "max_attempts":
        raise NotImplementedError
    if field == "task":
        return value, {}, {}
    if field == "args":
        return "work", value, {}
    if field == "secret":
        return "work", dict.fromkeys(_names(value), 1), {field: value}
    return "work", {}, {field: _timestamp(value) if field == "run_at" else value}


def _timestamp(value: Any) -> Any:
    try:
        return datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return value


def _length(value: Any) -> Any:
    if isinstance(value, bool):
        return value
    try:
        return duration(value) if isinstance(value, str) else timedelta(seconds=value)
    except (TypeError, ValueError, OverflowError, TenureError):
        return value


def _names(value: Any) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def _words(field: str, value: Any) -> list[str]:
    """Return the value as typed on a command line; skip values that cannot be typed."""
    if field == "priority" and type(value) is int:
        return [str(value)]
    words = value if field == "tags" else [value]
    if not words or not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise NotImplementedError
    return words


def dumped(value: Any) -> str:
    """Return the value as JSON, however deeply it is nested."""
    levels, inner = 0, value
    names = []
    while isinstance(inner, dict) and inner:
        *others, (name, last) = inner.items()
        names.append((others, name))
        inner = last
    while isinstance(inner, list) and len(inner) == 1:
        levels, inner = levels + 1, inner[0]
    text = "[" * levels + json.dumps(inner) + "]" * levels
    for others, name in reversed(names):
        before = "".join(f"{json.dumps(key)}: {json.dumps(one)}, " for key, one in others)
        text = f"{{{before}{json.dumps(name)}: {text}}}"
    return text
