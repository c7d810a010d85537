"""Measure the REST API: ``python -m bench.api [--only NAME] [--quick]``."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from bench import server, working
from bench.api_asking import CONNECTIONS, get, numbered, post, rate
from bench.api_cancelling import cancel_running
from bench.api_served import served
from bench.figures import Figure, console, figure
from bench.measuring import measure, worked
from bench.working import Bench
from tenure.control.client import Client
from tenure.control.tokens import make_token
from tenure.domain.job import NewJob
from tenure.domain.principal import Role

SECONDS = 5.0  # of one round
JOBS = 1_000  # that are asked for
AT_LEAST = 0.6  # of what a bare endpoint answers


@dataclass(frozen=True)
class Kind:
    """One kind of request; headers are those of somebody who may."""

    name: str
    make: Callable[[str], Callable[[], bytes]]


def _status(headers: str) -> Callable[[], bytes]:
    return numbered(lambda number: get(f"/api/jobs/{number % JOBS + 1}", headers))


def _enqueue(headers: str) -> Callable[[], bytes]:
    def make(number: int) -> bytes:
        body = json.dumps({"task": "noop", "args": {"n": number}}).encode()
        return post("/api/jobs", body, headers)

    return numbered(make)


def compared(kind: Kind) -> Callable[[Bench], Iterator[Figure]]:
    """Ours and a bare endpoint take turns, each round on a fresh database."""

    def measure(bench: Bench) -> Iterator[Figure]:
        rounds = bench.amounts.rounds
        seconds = SECONDS if rounds > 1 else 1.0
        rates: dict[str, list[float]] = {"bare": [], "ours": []}
        for number in range(rounds):
            for which, taken in rates.items():
                console.print(f"{kind.name}, {which}, round {number + 1} of {rounds}")
                with bench.server.database() as url, Client(url) as client:
                    client.store.enqueue_many(NewJob(task="noop"), [{"n": n} for n in range(JOBS)])
                    secret, _ = make_token(client, "bench", Role.OPERATOR)
                    headers = f"authorization: Bearer {secret}\r\n"
                    with served(which, url) as place:
                        taken.append(rate(place, kind.make(headers), seconds))
        about = f"{kind.name}, {CONNECTIONS} connections"
        reference = figure(f"{about}: bare FastAPI endpoint", rates["bare"], "requests/s")
        yield reference
        yield figure(
            f"{about}: REST API", rates["ours"], "requests/s", against=reference, at_least=AT_LEAST
        )

    return measure


PARTS: Mapping[str, Callable[[Bench], Iterator[Figure]]] = {
    "status": compared(Kind("status of a job", _status)),
    "enqueue": compared(Kind("enqueue", _enqueue)),
    "cancel": cancel_running,
}


def main() -> int:
    return measure("api", __doc__, PARTS, _surroundings)


def _surroundings(quick: bool) -> AbstractContextManager[Bench]:
    if quick:
        return worked(server.QUICK, replace(working.QUICK, sleeping=100))
    return worked(server.Sizes(), working.Amounts())


if __name__ == "__main__":
    sys.exit(main())
