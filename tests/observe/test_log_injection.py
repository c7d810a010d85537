"""A reason, an error or an output that looks like lines of the log stays within its line."""

import re
import signal
from pathlib import Path

from tenure.store.store import Store
from tests.cli.running import piped
from tests.factories import make_job
from tests.workers import eventually

APP = """
import time

from tenure import Tenure

app = Tenure()
EVIL = "gone\\n2030-01-01 12:00:00,000 INFO forged\\x1b[2J\\r"


@app.task(name="fails", retry=0)
def fails() -> None:
    raise ValueError(EVIL)


@app.task(name="sleeps")
def sleeps() -> None:
    print(EVIL)
    time.sleep(60)
"""
EVIL = "gone\n2030-01-01 12:00:00,000 INFO forged\x1b[2J\r"
LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} [A-Z]+ .*")


def test_a_worker_writes_one_line_for_each_message(
    database: str, store: Store, tmp_path: Path
) -> None:
    (tmp_path / "evil_app.py").write_text(APP)
    with piped(database, "worker", str(tmp_path / "evil_app.py")) as running:
        running.shows(" runs ")
        failing, sleeping = make_job(store, "fails"), make_job(store, "sleeps")
        eventually(lambda: store.show(failing).status == "failed")
        eventually(lambda: store.show(sleeping).status == "running")
        store.stop(sleeping, reason=EVIL)
        running.shows(f"stop of job {sleeping}")
        running.shows(f"job {failing} failed")
        running.process.send_signal(signal.SIGTERM)
        running.ends()
    lines = [line.rstrip("\n") for line in re.split(r"\n|\r|\u2028", running.raw) if line]
    for line in lines:
        assert LINE.fullmatch(line), repr(line)
        assert line.isprintable()
        assert not line.startswith("2030-01-01")
    assert sum("forged" in line for line in lines) >= 2
