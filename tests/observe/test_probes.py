"""The probes of real workers: restarted is what stands still, not what waits for its database."""

import re
import signal
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from tests.cutting import Proxy
from tests.workers import RunningWorker, eventually, running_worker, site_in

OPTIONS = ("--metrics", "127.0.0.1:0")
# So that a probe fails after two to three seconds.
SETTINGS = {"TENURE_LEASE": "1s", "TENURE_BEAT": "200ms", "TENURE_POLL": "200ms"}
# Makes every exchange with the database wait while a file exists.
STALL = """
import asyncio, os, sys

if "tenure.cli.keeper" in sys.orig_argv:
    from tenure.runtime.keeper.database.exchange import Exchange

    exchange = Exchange.run_once

    async def run_once(self, line):
        while os.path.exists({flag!r}):
            await asyncio.sleep(0.05)
        await exchange(self, line)

    Exchange.run_once = run_once
"""


def probe(worker: RunningWorker, path: str) -> str:
    found = re.search(r"metrics at (http://[^/]+)/metrics", worker.says("metrics at http"))
    assert found is not None
    try:
        with urllib.request.urlopen(found[1] + path, timeout=2) as answer:
            return str(answer.read().decode()).strip()
    except urllib.error.HTTPError as problem:
        if problem.code != 503:
            raise
        return problem.read().decode().strip()
    except TimeoutError:
        return "no answer"


def is_live(worker: RunningWorker) -> bool:
    return probe(worker, "/healthz") == "ok"


def is_ready(worker: RunningWorker) -> bool:
    return probe(worker, "/readyz") == "ok"


@contextmanager
def probed(url: str, folder: Path, **settings: str) -> Iterator[RunningWorker]:
    with running_worker(url, folder, *OPTIONS, settings={**SETTINGS, **settings}) as worker:
        eventually(lambda: is_ready(worker), "ready")
        assert is_live(worker)
        yield worker


def test_a_worker_whose_claims_stand_still_is_not_live(database: str, tmp_path: Path) -> None:
    flag = tmp_path / "stall"
    (tmp_path / "sitecustomize.py").write_text(STALL.format(flag=str(flag)))
    with probed(database, tmp_path, **site_in(tmp_path)) as worker:
        flag.touch()
        eventually(lambda: not is_live(worker), "not live")
        assert re.fullmatch(r"claims are due, and none was sent for \d s", probe(worker, "/readyz"))
        flag.unlink()
        eventually(lambda: is_ready(worker), "ready again")
        worker.signal(signal.SIGSTOP)
        assert probe(worker, "/healthz") == "no answer"
        worker.signal(signal.SIGCONT)
        eventually(lambda: is_ready(worker), "ready again, under another id")


def test_a_locked_table_makes_a_worker_unready_but_not_dead(database: str, tmp_path: Path) -> None:
    with probed(database, tmp_path) as worker:
        with psycopg.connect(database) as connection:
            connection.execute("LOCK TABLE tenure.job")
            unanswered = "the database has answered no claim for"
            eventually(lambda: probe(worker, "/readyz").startswith(unanswered), "not ready")
            assert is_live(worker)
        eventually(lambda: is_ready(worker), "ready again")
        worker.signal(signal.SIGTERM)
        assert worker.ends() == 0


def test_an_outage_makes_a_worker_unready_but_not_dead(database: str, tmp_path: Path) -> None:
    proxy = Proxy(tmp_path, database)
    with probed(proxy.url, tmp_path) as worker:
        proxy.close()
        sentence = "the lease was not renewed: the database does not answer"
        eventually(lambda: probe(worker, "/readyz") == sentence, "not ready")
        assert is_live(worker)
