"""Looking after a database and its jobs."""

from tenure.store.call import Argument, Call
from tenure.store.examined import Diagnosis, OpenStop, Server
from tenure.store.reading import answer


def server() -> Call[Server]:
    return Call("server", {}, answer(Server), safe=True, control=True)


def diagnose() -> Call[Diagnosis]:
    return Call("diagnose", {}, answer(Diagnosis), safe=True)


def stops(n: int = 50) -> Call[tuple[OpenStop, ...]]:
    return Call("stops", {"n": Argument(n, "int4")}, answer(tuple[OpenStop, ...]), safe=True)
