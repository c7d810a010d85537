"""How often a worker that has nothing to do asks the database."""

import re
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict

from bench.figures import Figure, console, figure
from bench.weighing import IDLE_APP
from bench.working import Bench, worker
from tenure.store.store import Store

_SETTLES = 1.5  # seconds

_STATEMENT = re.compile(r"LOG:  (?:statement|execute [^:]*): ?(.*)$", re.MULTILINE)
_CALL = re.compile(r"SELECT (?:CAST\()?\"?\w+\"?\.\"?(\w+)\"?\(")


def count_queries(bench: Bench) -> Iterator[Figure]:
    """All that the server is asked in a database where nobody else is, by its own log.

    Its statistics are no help: they come up to ten seconds late.
    """
    seconds = bench.amounts.idle
    console.print(f"queries of an idle worker, {seconds:g} s")
    with bench.server.database() as url:
        log = _log_statements(url)
        with worker(bench, url, app=IDLE_APP) as at_work:
            with Store(url) as store:
                at_work.warm_up(store)
            time.sleep(_SETTLES)
            before, start = log.stat().st_size, time.perf_counter()
            time.sleep(seconds)
            text, end = log.read_bytes()[before:], time.perf_counter()
    asked = statements(text.decode(errors="replace"))
    for what, times in asked.most_common():
        yield figure(f"queries of an idle worker: {what}", times / (end - start), "/s")
    yield figure("queries of an idle worker", asked.total() / (end - start), "/s", at_most=1)


def statements(log: str) -> Counter[str]:
    """What was asked how often: a verb by its name, anything else by its first words."""
    return Counter(_named(statement) for statement in _STATEMENT.findall(log))


def _named(statement: str) -> str:
    if call := _CALL.match(statement):
        return call[1]
    return " ".join(statement.split()[:2]) or "nothing, to see whether a connection is alive"


def _log_statements(url: str) -> Path:
    """Of this database and no other."""
    name = conninfo_to_dict(url)["dbname"]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {name} SET log_statement = 'all'".encode())
        [(data,)] = connection.execute("SHOW data_directory")
    return Path(data).parent / "server.log"
