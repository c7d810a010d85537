"""Agents of Pydantic AI in real workers: killed with -9, and cancelled while a model thinks."""

import random
import time
from collections import Counter
from pathlib import Path

import pytest

from tenure.domain.lifecycle import State
from tenure.store.store import Store
from tests.apps import pydantic_agents as agents
from tests.system.scene import SHORT, Scene, kill_all
from tests.workers import eventually

APP = "tests.apps.pydantic_agents:app"
PAGES, KILLS = 24, 3


@pytest.fixture
def scene(database: str, store: Store, tmp_path: Path) -> Scene:
    return Scene(database, store, tmp_path)


def calls(scene: Scene) -> Counter[str]:
    path = scene.folder / "calls"
    return Counter(path.read_text().splitlines() if path.exists() else [])


def test_a_killed_runner_repeats_what_was_in_flight_at_most(scene: Scene) -> None:
    luck = random.Random(7)
    with scene.worker(app=APP, **SHORT) as worker:
        job = scene.enqueue(agents.research.new_job(PAGES))
        for number in range(KILLS):
            reached = f"read {number * 8 + 1}"
            eventually(lambda text=reached: calls(scene)[text], reached)  # type: ignore[misc]
            time.sleep(luck.random() * 0.03)
            kill_all(worker.runners)
        [done] = scene.completes(job)
    made = calls(scene)
    assert done.result == " ".join(f"page {page}" for page in range(PAGES))
    assert len(made) == PAGES + PAGES // 2 + 1
    assert made.total() - len(made) <= 2 * KILLS, "two pages are read at once"
    steps = scene.store.steps(job)
    assert len(steps) == len(made)
    assert not any(step.changes for step in steps)
    assert done.spent["tokens"] <= 15 * (PAGES // 2 + 1) + KILLS * 100


def test_a_cancel_ends_the_request_of_a_model(scene: Scene) -> None:
    with scene.worker(app=APP, **SHORT):
        job = scene.enqueue(agents.wait_for_a_model.new_job())
        eventually(lambda: calls(scene)["hang"], "the model is asked")
        record = scene.store.stop(job)
        scene.watch.record_ends(record.cancellation_id)
        assert scene.store.show(job).state is State.CANCELLED
        assert calls(scene) == {"hang": 1, "cancelled": 1}
        assert scene.store.steps(job) == ()
