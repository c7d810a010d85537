"""The servers of a run, on loopback and sockets: a fresh place for every measurement."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from bench import server
from bench.peers.environments import Missing
from bench.peers.listing import Peer, Server

_DATABASE = "peer"


@dataclass(frozen=True)
class Servers:
    postgresql: server.Server
    redis: "Redis | None"

    @property
    def versions(self) -> dict[str, str]:
        with psycopg.connect(self.postgresql.url) as connection:
            row = connection.execute("SHOW server_version").fetchone()
        assert row is not None
        told = {Server.POSTGRESQL.value: f"{row[0]}, {self.postgresql.settings}"}
        if self.redis is not None:
            told[Server.REDIS.value] = f"{self.redis.version}, without persistence"
        return told

    def fresh(self, peer: Peer) -> str:
        """Where it can start with nothing."""
        if peer.server is Server.REDIS:
            return self._redis.emptied()
        with psycopg.connect(self.postgresql.url, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {_DATABASE} WITH (FORCE)".encode())
            connection.execute(f"CREATE DATABASE {_DATABASE}".encode())
        return self.postgresql.at(_DATABASE)

    def settle(self, peer: Peer) -> None:
        if peer.server is Server.POSTGRESQL:
            with psycopg.connect(self.postgresql.at(_DATABASE), autocommit=True) as connection:
                server.settle(connection)

    @property
    def _redis(self) -> "Redis":
        if self.redis is None:
            raise Missing("it needs Redis (apt install redis-server)")
        return self.redis


@dataclass(frozen=True)
class Redis:
    port: int

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def emptied(self) -> str:
        self._ask("FLUSHALL")
        return self.url

    def answers(self) -> bool:
        try:
            return self._ask("PING") == b"+PONG\r\n"
        except OSError:
            return False

    @property
    def version(self) -> str:
        said = self._ask("INFO server").decode()
        return said.partition("redis_version:")[2].partition("\r")[0]

    def _ask(self, word: str) -> bytes:
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as connection:
            connection.sendall(f"{word}\r\n".encode())
            return connection.recv(4096)


@contextmanager
def serve(sizes: server.Sizes, folder: Path) -> Iterator[Servers]:
    with server.serve(sizes) as postgresql, ExitStack() as stack:
        redis = None
        if shutil.which("redis-server") is not None:
            redis = stack.enter_context(_serve_redis(folder))
        yield Servers(postgresql, redis)


@contextmanager
def _serve_redis(folder: Path) -> Iterator[Redis]:
    """Without persistence, so what it keeps is not as safe as what PostgreSQL keeps."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        redis = Redis(free.getsockname()[1])
    options = f"--port {redis.port} --bind 127.0.0.1 --save '' --appendonly no --dir {folder}"
    process = subprocess.Popen(  # noqa: S603
        ["redis-server", *(part.strip("'") for part in options.split())],  # noqa: S607
        stdout=subprocess.DEVNULL,
    )
    try:
        end = time.monotonic() + 10
        while not redis.answers():
            if time.monotonic() > end:
                raise RuntimeError("redis-server did not answer within 10 s")
            time.sleep(0.05)
        yield redis
    finally:
        process.terminate()
        process.wait()
