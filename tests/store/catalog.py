"""Questions to the catalog of a database."""

import psycopg


def ask(connection: psycopg.Connection, query: str, *values: object) -> list[tuple[object, ...]]:
    return connection.execute(query.encode(), values or None).fetchall()


def executable_by_everybody(connection: psycopg.Connection) -> list[tuple[object, ...]]:
    return ask(
        connection,
        """
        SELECT p.oid::regprocedure::text
        FROM pg_proc AS p
        CROSS JOIN aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS may
        WHERE p.pronamespace::regnamespace::text LIKE 'tenure%' AND may.grantee = 0
        """,
    )
