"""Verbs that examine a database and its jobs."""

from tenure.store.diagnosis_results import Diagnosis, Leak, OpenStop, ServerInfo
from tenure.store.verb import Int4, verb


@verb(safe=True, control=True)
def server() -> ServerInfo: ...


@verb(safe=True)
def diagnose() -> Diagnosis: ...


@verb(safe=True)
def stops(n: Int4 = 50) -> tuple[OpenStop, ...]: ...


@verb(safe=True)
def leaks(n: Int4 = 100) -> tuple[Leak, ...]: ...
