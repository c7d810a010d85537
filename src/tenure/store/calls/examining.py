"""Looking after a database and its jobs."""

from tenure.store.call import Argument, Call
from tenure.store.examined import Ailments, OpenStop, Server
from tenure.store.reading import answer


def server() -> Call[Server]:
    return Call("server", {}, answer(Server), safe=True, control=True)


def ailments() -> Call[Ailments]:
    return Call("ailments", {}, answer(Ailments), safe=True)


def stops(n: int = 50) -> Call[tuple[OpenStop, ...]]:
    return Call("stops", {"n": Argument(n, "int4")}, answer(tuple[OpenStop, ...]), safe=True)
