"""How long a cancel by request takes, for a job whose tasks run on several workers."""

import json
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from time import perf_counter
from typing import Any

from bench.api_served import served
from bench.figures import Figure, console, figure
from bench.working import Bench, Worker, worker
from tenure.control.client import Client
from tenure.control.tokens import make_token
from tenure.domain.job import NewJob
from tenure.domain.principal import Role
from tenure.store.store import Store

WORKERS = 4
APP = "bench.idle_app:app"


def cancel_running(bench: Bench) -> Iterator[Figure]:
    """From the request to the answer that says that all of it has stopped."""
    tasks = bench.amounts.sleeping
    taken = [_seconds(bench, tasks) for _ in range(bench.amounts.rounds)]
    yield figure(
        f"cancel of {tasks:,} running tasks on {WORKERS} workers: request to record completed",
        taken,
        "s",
    )


def _seconds(bench: Bench, tasks: int) -> float:
    console.print(f"cancel of {tasks:,} running tasks")
    share = ("--concurrency", str(tasks // WORKERS))
    with bench.server.database() as url, Client(url) as client, ExitStack() as stack:
        secret, _ = make_token(client, "bench", Role.ADMIN)
        workers = [stack.enter_context(worker(bench, url, *share, app=APP)) for _ in range(WORKERS)]
        host, port = stack.enter_context(served("ours", url))
        job = _running(client.store, workers[0], tasks)
        path = f"http://{host}:{port}/api/jobs/{job}"
        _asked(path, secret)  # when this is answered, the server has begun
        began = perf_counter()
        answer = _asked(f"{path}/cancel", secret, {"reason": "measured", "wait": "60s"})
        seconds = perf_counter() - began
    stopped = sum(member["became"] == "cancelled" for member in answer["members"])
    if answer["status"] != "completed" or stopped != tasks + 1:
        raise RuntimeError(f"the cancel ended {answer['status']}: {stopped} of {tasks + 1} stopped")
    return seconds


def _running(store: Store, one: Worker, tasks: int) -> int:
    """A job all of whose tasks run."""
    children = [NewJob(task="sleeps", parent="whole") for _ in range(tasks)]
    whole, *_ = store.enqueue([NewJob(task=None, key="whole"), *children])
    one.until(
        lambda: store.statistics().by_status.get("running", 0) == tasks, "all tasks ran", every=0.1
    )
    return whole.id


def _asked(url: str, secret: str, body: dict[str, str] | None = None) -> dict[str, Any]:
    headers = {"authorization": f"Bearer {secret}", "content-type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, headers)) as answer:  # noqa: S310
        told: dict[str, Any] = json.load(answer)
    return told
