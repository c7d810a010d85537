"""How long the list of jobs takes out of a million, beside the query behind it."""

import asyncio
import http.client
import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from statistics import median
from time import perf_counter
from urllib.parse import urlencode

import psycopg

from bench.api_served import served
from bench.figures import Figure, console, figure
from bench.page_filling import fill
from bench.sessions import viewer_session
from bench.working import Bench
from tenure.control.authorized_client import AuthorizedClient
from tenure.control.client import Client
from tenure.domain.principal import Principal, Role
from tenure.web.dashboard.attention import read_attention
from tenure.web.dashboard.jobs import PAGE_SIZE

ASKED = 20  # times in one round, of each
AT_MOST = 3.0  # times as long as the query

_QUERY = b"SELECT tenure.list_jobs(%s::jsonb, %s::int8, %s::int4)::text"


def _wanted(jobs: int) -> Mapping[str, dict[str, str]]:
    """What people look for; ``below`` is where a page of old jobs begins."""
    return {
        "newest": {},
        "far below": {"below": str(jobs // 2)},
        "by queue": {"queue": "queue-3"},
        "by a rare queue": {"queue": "rare"},
        "by status": {"status": "failed"},
        "by owner": {"owner": "owner-4"},
        "by tag": {"tag": "eu"},
        "by target": {"target": "site:5"},
    }


def list_jobs(bench: Bench) -> Iterator[Figure]:
    """The page and the query take turns, each over one connection that is kept."""
    jobs, rounds = bench.server.sizes.million, bench.amounts.rounds
    with bench.server.database() as url:
        console.print(f"a list of {jobs:,} jobs")
        with psycopg.connect(url, autocommit=True) as connection, Client(url) as client:
            fill(connection, jobs)
            secret = viewer_session(client, "bench")
            with served("ours", url) as place:
                yield from _overview(
                    f"the overview of {jobs:,} jobs", url, _Page(place, secret), rounds
                )
                for name, asked in _wanted(jobs).items():
                    page = _Page(place, secret)
                    query = partial(_query, connection, asked)
                    taken = [_in_turns(query, partial(page.get, asked)) for _ in range(rounds)]
                    queries, pages = zip(*taken, strict=True)
                    about = f"{PAGE_SIZE} of {jobs:,} jobs, {name}"
                    bare = figure(f"{about}: the query", queries, "ms")
                    yield bare
                    yield figure(f"{about}: the page", pages, "ms", against=bare, at_most=AT_MOST)


class _Page:
    def __init__(self, place: tuple[str, int], secret: str) -> None:
        self._connection = http.client.HTTPConnection(*place, timeout=60)
        self._headers = {"cookie": f"tenure_session={secret}"}

    def get(self, asked: Mapping[str, str], path: str = "/jobs") -> None:
        query = f"?{urlencode(asked)}" if asked else ""
        self._connection.request("GET", f"{path}{query}", headers=self._headers)
        answer = self._connection.getresponse()
        text = answer.read()
        if answer.status != 200 or b"<tbody>" not in text:
            raise RuntimeError(f"the page was not answered as it should be: {answer.status}")


def _overview(about: str, url: str, page: "_Page", rounds: int) -> Iterator[Figure]:
    """The page and its queries take turns, as for one viewer: its reads follow with a pause."""
    client = Client(url)
    caller = AuthorizedClient(client, Principal("bench", Role.VIEWER))
    with asyncio.Runner() as runner:
        taken = [
            _in_turns(lambda: runner.run(_attention(caller)), partial(page.get, {}, "/"))
            for _ in range(rounds)
        ]
        runner.run(client.aclose())
    queries, pages = zip(*taken, strict=True)
    bare = figure(f"{about}: what needs a person, read at once", queries, "ms")
    yield bare
    yield figure(f"{about}: the page", pages, "ms", against=bare, at_most=AT_MOST)


async def _attention(caller: AuthorizedClient) -> None:
    await read_attention(caller)


def _query(connection: psycopg.Connection, asked: Mapping[str, str]) -> None:
    filters = {name: value for name, value in asked.items() if name != "below"}
    values = (json.dumps(filters), asked.get("below"), PAGE_SIZE + 1)
    connection.execute(_QUERY, values, prepare=True).fetchone()


def _in_turns(*asks: Callable[[], None]) -> list[float]:
    """Milliseconds that each takes, so that all have the same neighbours; two are to warm up."""
    taken: list[list[float]] = [[] for _ in asks]
    for _ in range(ASKED + 2):
        for ask, times in zip(asks, taken, strict=True):
            began = perf_counter()
            ask()
            times.append((perf_counter() - began) * 1000)
    return [median(times[2:]) for times in taken]
