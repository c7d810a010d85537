"""Jobs to measure with, enqueued as by a client that has their app."""

import json

import psycopg

CALL = 10_000  # jobs in one call of enqueue_many
ENQUEUE_MANY = b"SELECT tenure.enqueue_many(%s::jsonb, %s::jsonb, declared => true)::text"


def arguments(n: int) -> list[str]:
    """Small arguments, each as JSON."""
    return [json.dumps({"n": number}) for number in range(n)]


def enqueue(
    connection: psycopg.Connection, n: int, *, args: object = None, **shared: object
) -> None:
    """Enqueue n jobs that are alike, by calls of enqueue_many."""
    texts = arguments(n) if args is None else [json.dumps(args)] * n
    enqueue_all(connection, texts, **shared)


def enqueue_all(connection: psycopg.Connection, texts: list[str], **shared: object) -> None:
    job = json.dumps({"task": "noop", **shared})
    for start in range(0, len(texts), CALL):
        batch = "[" + ",".join(texts[start : start + CALL]) + "]"
        connection.execute(ENQUEUE_MANY, (batch, job), prepare=True).fetchone()
