"""A PostgreSQL that refuses connections in every way it can, each for a reason of its own."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict

PASSWORD = "Geheim-4711"
_RULES = """
local all unreachable_password scram-sha-256
local all unreachable_tls reject
"""
_ROLES = f"""
CREATE ROLE unreachable_password LOGIN PASSWORD '{PASSWORD}';
CREATE ROLE unreachable_tls LOGIN;
CREATE ROLE unreachable_nologin NOLOGIN;
CREATE ROLE unreachable_full LOGIN CONNECTION LIMIT 0;
"""
# Each cause with a part of the sentence that names it.
CAUSES = {
    "wrong password": 'the password of the database user "unreachable_password" is wrong',
    "no password": "the server asks for a password, and the database URL has none",
    "no such user": 'there is no database user "unreachable_nobody"',
    "may not log in": 'the database user "unreachable_nologin" may not log in',
    "no such database": 'there is no database "unreachable"',
    "too many connections": "the server has no connection left (too many connections for role",
    "unknown host": 'there is no host "no-such-host.invalid"',
    "nothing listens": "(connection refused)",
    "no socket": "no server listens on port 5432 in the socket folder /nowhere",
    "TLS not supported": "the server does not support TLS",
    "TLS required": "the server refuses unencrypted connections",
    "malformed": "its URL cannot be read",
}
MAY_PASS = {"too many connections", "nothing listens", "no socket"}


@contextmanager
def refusing(server: str) -> Iterator[dict[str, str]]:
    """Yield a URL for each cause. Each has a password in it where the cause leaves room for one."""
    parts = conninfo_to_dict(server)
    folder, name = parts["host"], parts["dbname"]
    rules = Path(str(folder)).parent / "data" / "pg_hba.conf"
    before = rules.read_text()
    with psycopg.connect(server, autocommit=True) as owner, tcp_door(f"{folder}") as port:
        owner.execute(_ROLES)
        rules.write_text(_RULES + before)
        owner.execute("SELECT pg_reload_conf()")
        try:
            yield {
                "wrong password": _local("unreachable_password", "Falsch-4711", folder, name),
                "no password": f"postgresql://unreachable_password@/{name}?host={folder}",
                "no such user": _local("unreachable_nobody", PASSWORD, folder, name),
                "may not log in": _local("unreachable_nologin", PASSWORD, folder, name),
                "no such database": _local("postgres", PASSWORD, folder, "unreachable"),
                "too many connections": _local("unreachable_full", PASSWORD, folder, name),
                "unknown host": f"postgresql://ada:{PASSWORD}@no-such-host.invalid/{name}",
                "nothing listens": f"postgresql://ada:{PASSWORD}@127.0.0.1:{free_port()}/{name}",
                "no socket": f"postgresql://ada:{PASSWORD}@/{name}?host=/nowhere",
                "TLS not supported": (
                    f"postgresql://ada:{PASSWORD}@127.0.0.1:{port}/{name}?sslmode=require"
                ),
                "TLS required": _local("unreachable_tls", PASSWORD, folder, name),
                "malformed": f"postgresql://ada:x@{PASSWORD}@127.0.0.1:{port}/{name}",
            }
        finally:
            rules.write_text(before)
            owner.execute("SELECT pg_reload_conf()")
            for role in ("password", "tls", "nologin", "full"):
                owner.execute(f"DROP ROLE unreachable_{role}".encode())


def _local(user: str, password: str, folder: object, name: object) -> str:
    return f"postgresql://{user}:{password}@/{name}?host={folder}"


def free_port() -> int:
    """Return a port on which nothing listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@contextmanager
def tcp_door(folder: str) -> Iterator[int]:
    """Yield a TCP port that leads to the Unix socket of a server, which offers no TLS there."""
    door = socket.create_server(("127.0.0.1", 0))
    threads = [threading.Thread(target=_welcome, args=(door, folder))]
    threads[0].start()
    try:
        yield int(door.getsockname()[1])
    finally:
        door.shutdown(socket.SHUT_RDWR)
        threads[0].join(20)
        door.close()


def _welcome(door: socket.socket, folder: str) -> None:
    with suppress(OSError):
        while True:
            client, _ = door.accept()
            with client, socket.socket(socket.AF_UNIX) as server:
                server.connect(f"{folder}/.s.PGSQL.5432")
                # The question whether there is TLS, and its answer; more is not needed here.
                server.sendall(client.recv(1 << 16))
                client.sendall(server.recv(1 << 16))
                client.recv(1)
