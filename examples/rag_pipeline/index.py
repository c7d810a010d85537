"""The index in PostgreSQL: pages, their chunks, staged vectors, and what is searched."""

import hashlib
from collections.abc import Sequence

import psycopg

SCHEMA = """
CREATE SCHEMA IF NOT EXISTS rag;
CREATE TABLE IF NOT EXISTS rag.page (url text PRIMARY KEY, title text NOT NULL, body text NOT NULL);
CREATE TABLE IF NOT EXISTS rag.chunk (
    digest text PRIMARY KEY, url text NOT NULL REFERENCES rag.page ON DELETE CASCADE,
    place integer NOT NULL, body text NOT NULL, UNIQUE (url, place));
CREATE TABLE IF NOT EXISTS rag.staged (digest text PRIMARY KEY, vector real[] NOT NULL);
CREATE TABLE IF NOT EXISTS rag.entry (
    digest text PRIMARY KEY, url text NOT NULL, body text NOT NULL, vector real[] NOT NULL);
"""


def connect(url: str) -> psycopg.Connection:
    return psycopg.connect(url)


def prepare(url: str) -> None:
    with connect(url) as connection:
        connection.execute(SCHEMA)


def keep_page(connection: psycopg.Connection, url: str, title: str, body: str) -> None:
    connection.execute(
        "INSERT INTO rag.page VALUES (%s, %s, %s)"
        " ON CONFLICT (url) DO UPDATE SET title = excluded.title, body = excluded.body",
        (url, title, body),
    )


def keep_chunks(connection: psycopg.Connection, url: str, bodies: Sequence[str]) -> None:
    """All chunks of a page at once, so that no page is ever half split."""
    with connection.transaction():
        connection.execute("DELETE FROM rag.chunk WHERE url = %s", (url,))
        with connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO rag.chunk VALUES (%s, %s, %s, %s) ON CONFLICT (digest) DO NOTHING",
                [(digest_of(url, body), url, place, body) for place, body in enumerate(bodies)],
            )


def unembedded(connection: psycopg.Connection, n: int) -> list[tuple[str, str]]:
    """Chunks of which no vector is staged and no entry made."""
    return connection.execute(
        "SELECT c.digest, c.body FROM rag.chunk AS c"
        " WHERE NOT EXISTS (SELECT FROM rag.staged AS s WHERE s.digest = c.digest)"
        "   AND NOT EXISTS (SELECT FROM rag.entry AS e WHERE e.digest = c.digest)"
        " ORDER BY c.url, c.place LIMIT %s",
        (n,),
    ).fetchall()


def stage(
    connection: psycopg.Connection, digests: Sequence[str], vectors: Sequence[Sequence[float]]
) -> None:
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO rag.staged VALUES (%s, %s) ON CONFLICT DO NOTHING",
            list(zip(digests, vectors, strict=True)),
        )


def upsert(connection: psycopg.Connection) -> int:
    """Staged vectors become entries, and entries without a chunk go: all of it or nothing."""
    with connection.transaction():
        made = connection.execute(
            "WITH moved AS (DELETE FROM rag.staged RETURNING digest, vector)"
            " INSERT INTO rag.entry SELECT c.digest, c.url, c.body, m.vector"
            " FROM moved AS m JOIN rag.chunk AS c USING (digest)"
            " ON CONFLICT (digest) DO UPDATE SET vector = excluded.vector"
        ).rowcount
        connection.execute(
            "DELETE FROM rag.entry AS e"
            " WHERE NOT EXISTS (SELECT FROM rag.chunk AS c WHERE c.digest = e.digest)"
        )
    return made


def nearest(connection: psycopg.Connection, vector: Sequence[float], n: int = 3) -> list[str]:
    """The pages whose chunks are nearest to a vector, by cosine."""
    rows = connection.execute(
        "SELECT url FROM (SELECT e.url, max((SELECT sum(a * b) FROM unnest(e.vector, %s::real[])"
        " AS t(a, b))) AS score FROM rag.entry AS e GROUP BY e.url) AS found"
        " ORDER BY score DESC NULLS LAST LIMIT %s",
        (list(vector), n),
    ).fetchall()
    return [url for (url,) in rows]


def digest_of(url: str, body: str) -> str:
    return hashlib.sha256(f"{url}\n{body}".encode()).hexdigest()
