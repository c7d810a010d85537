"""Verbs that examine a database and its jobs."""

from tenure.store.examined import Diagnosis, OpenStop, Server
from tenure.store.verb import Int4, verb


@verb(safe=True, control=True)
def server() -> Server: ...


@verb(safe=True)
def diagnose() -> Diagnosis: ...


@verb(safe=True)
def stops(n: Int4 = 50) -> tuple[OpenStop, ...]: ...
