"""A worker to which everything happens that can be seen, and what was seen of it."""

import json
import os
import re
import signal
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from tenure.domain.lifecycle import Intent, State
from tenure.runtime.leftovers import WorkerFolder
from tenure.store.store import Store
from tests.apps import observed
from tests.factories import make_job
from tests.workers import RunningWorker, Watcher, eventually, running_worker

APP = "tests.apps.observed:app"
SECRET = "open-sesame-4711"

Line = Mapping[str, Any]


@dataclass
class Seen:
    """The log and the metrics of two workers, of which the first was killed."""

    jobs: dict[str, int] = field(default_factory=dict)  # by what happened to them
    records: dict[str, str] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)  # of the second
    worker: str = ""  # its id
    dead: str = ""  # the id of the first
    stranger: str = ""  # the id of a dead worker of another project on this host
    stranger_is_cleared: bool = False
    page: str = ""
    text: str = ""  # all that either has written

    def said(self, pattern: str, **fields: object) -> Line:
        """The first line that matches, and has these fields."""
        for line in self.lines:
            if re.search(pattern, line["message"]) and fields.items() <= line.items():
                return line
        near = [line for line in self.lines if re.search(pattern, line["message"])]
        raise AssertionError(f"nobody said {pattern!r} with {fields}; but {near}")


def scrape(worker: RunningWorker, path: str = "/metrics") -> str:
    found = re.search(r"metrics at (http://[^/]+)/metrics", worker.says("metrics at http"))
    assert found is not None
    with urllib.request.urlopen(found[1] + path, timeout=10) as answer:
        return str(answer.read().decode())


def play(url: str, folder: Path) -> Seen:
    """All of it, once."""
    seen = Seen()
    # A place of their own for what killed workers leave: others on this host would clear it away.
    (own := folder / "tmp").mkdir()
    alone = {"TMPDIR": str(own)}
    settings = {**alone, "TENURE_BLOCKED_AFTER": "100ms", "TENURE_DRAIN_GRACE": "4s"}
    with Store(url) as store:
        options = ("--log-format", "json")
        # A long lease: that it is dead is seen by its neighbour, not by the clock.
        doomed = {**alone, "TENURE_LEASE": "90s"}
        with running_worker(url, folder, *options, app=APP, settings=doomed) as first:
            # Otherwise it would run once more: the first death of a worker is charged to nobody.
            orphan = seen.jobs["recovered"] = _enqueue(store, observed.waits, orphan="fail")
            _starts(folder, orphan)
            seen.dead = _id_of(first)
            first.signal(signal.SIGKILL)
            first.ends()
            seen.text += first.log
        strangers = _leave_stranger(own, seen)
        shown = (*options, "--metrics", "127.0.0.1:0")
        with running_worker(url, folder, *shown, app=APP, settings=settings) as second:
            seen.worker = _id_of(second)
            second.says("recovered job", within=30)
            store.set_webhook("inside", "https://127.0.0.1/")  # each attempt fails
            _play(store, folder, seen)
            eventually(lambda: "listener_live 1.0" in scrape(second), "it listens")
            seen.page = scrape(second)
            seen.jobs["drained"] = _enqueue(store, observed.hogs)
            _starts(folder, seen.jobs["drained"])
            second.signal(signal.SIGTERM)
            second.ends()
            seen.text += second.log
            seen.lines = [json.loads(line) for line in second.log.splitlines()]
    seen.stranger_is_cleared = not strangers.exists()
    return seen


def _leave_stranger(temp: Path, seen: Seen) -> Path:
    """Leave what a killed worker of another project would leave."""
    place = WorkerFolder.claim("stranger", temp / f"tenure-{os.getuid()}")
    worker = uuid4()
    place.belongs_to(worker, "another database")
    os.close(place._lock)
    seen.stranger = str(worker)
    return place.folder


def _play(store: Store, folder: Path, seen: Seen) -> None:
    watcher = Watcher(store)
    ended = (State.COMPLETED, State.FAILED, State.CANCELLED)
    watcher.becomes(seen.jobs["recovered"], *ended)
    for name, task, args in (
        ("completed", observed.calm, {"said": "hello"}),
        ("completed in a process", observed.calm_function, {}),
        ("failed", observed.fails, {"why": "it is broken"}),
        ("failed twice", observed.fails_twice, {}),
        ("betrayed", observed.betrays, {"key": SECRET}),
        ("timed out", observed.too_slow, {}),
        ("crashed", observed.dies, {}),
        ("blocked", observed.blocks, {"seconds": 1.5}),
    ):
        job = seen.jobs[name] = _enqueue(store, task, **args)
        watcher.becomes(job, *ended)
    for name, task, how in (
        ("interrupted", observed.waits, {}),
        ("killed", observed.hogs, {"grace": "1s"}),
        ("forced", observed.hogs, {"force": True}),
        ("cleaned", observed.has_things, {}),
        ("paused", observed.waits, {"intent": Intent.PAUSE}),
    ):
        job = seen.jobs[name] = _enqueue(store, task)
        _starts(folder, job)
        record = store.stop(job, reason=f"to see it {name}", by="ada", **_read(how))
        seen.records[name] = record.cancellation_id
        watcher.record_ends(record.cancellation_id)


def _enqueue(store: Store, task: Any, *, orphan: Any = "retry", **args: Any) -> int:
    options = {"secret": ["key"]} if "key" in args else task.options.stored()
    return make_job(
        store,
        task.name,
        queue=task.options.queue,
        args=args,
        options=options or None,
        orphan=orphan,
        max_attempts=(task.options.retry.max if task.options.retry else 3) + 1,
    )


def _starts(folder: Path, job: int) -> None:
    eventually((folder / f"started-{job}").exists, f"job {job} starts")


def _read(how: Mapping[str, Any]) -> dict[str, Any]:
    from tenure.domain.duration import duration

    return {**how, **({"grace": duration(how["grace"])} if "grace" in how else {})}


def _id_of(worker: RunningWorker) -> str:
    found = re.search(r"worker ([0-9a-f-]{36}) runs", worker.says(" runs "))
    assert found is not None
    return found[1]
