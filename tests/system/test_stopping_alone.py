"""Stops on workers of their own: all slots full, and while they drain."""

import signal
from pathlib import Path

from tenure.control.handle import Handle
from tenure.domain.lifecycle import State
from tests.apps import stopping
from tests.system.stage import staged


def test_stops_work_with_all_slots_full(shared_database: str, tmp_path: Path) -> None:
    with staged(
        stopping.app,
        shared_database,
        tmp_path,
        "stopping",
        "--concurrency",
        "1",
        "--processes",
        "1",
    ) as stage:
        for running, waiting, grace, rung in (
            (stopping.sleeps_async, stopping.quick, "1h", "interrupted"),
            (stopping.sleeps, stopping.quick_function, "1h", "interrupted"),
            (stopping.hogs, stopping.quick_function, "1s", "killed"),
        ):
            busy = stage.start(running)
            behind, dropped = waiting.enqueue(), waiting.enqueue()
            dropped.cancel(reason="enough")
            assert stage.watch.state(dropped.id) is State.CANCELLED
            stage.is_stopped(busy, stage.stop(busy, grace=grace), rung)
            assert behind.result(timeout="20s") == "done"


def test_stops_are_heard_while_the_worker_drains(shared_database: str, tmp_path: Path) -> None:
    with staged(
        stopping.app,
        shared_database,
        tmp_path,
        "stopping",
        TENURE_DRAIN_GRACE="60s",
    ) as stage:
        handles: list[tuple[Handle[None], str]] = [
            (stage.start(stopping.sleeps_async), "1h"),
            (stage.start(stopping.swallows_cancellation), "1s"),
            (stage.start(stopping.sleeps), "1h"),
        ]
        stage.worker.signal(signal.SIGTERM)
        stage.worker.says("draining")
        rungs = []
        for handle, grace in handles:
            record = stage.stop(handle, grace=grace)
            assert stage.watch.state(handle.id) is State.CANCELLED
            rungs += [member.rung for member in record.members]
        assert rungs == ["interrupted", "killed", "interrupted"]
        assert stage.worker.ends() == 0, "all it had ended before its time was over"
