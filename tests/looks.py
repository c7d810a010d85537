"""A worker that answers looks, as its keeper would."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tenure.domain.inspection import Frame, InspectionAnswer, Process, Stack
from tenure.store.results import Claimed
from tests.factories import Worker

SIGHT = InspectionAnswer(
    (Stack("its function", (Frame("/srv/shop.py", 7, "crawl", "time.sleep(9)"),)),),
    (Process(42, "python", "sleeping", 1.5, 2_000_000),),
    ("it is well",),
)


def waiting(worker: Worker) -> list[int]:
    """The looks that a worker hears of with its beat."""
    signals = worker.store.renew(worker.id).signals
    return [int(one.orders["inspection"]) for one in signals if "inspection" in one.orders]


def answers(worker: Worker, job: Claimed, look: int, sight: InspectionAnswer = SIGHT) -> bool:
    return worker.store.answer_inspection(worker.id, job.id, job.token, look, sight)["accepted"]


@contextmanager
def answering(worker: Worker, job: Claimed, sight: InspectionAnswer = SIGHT) -> Iterator[None]:
    """It answers every look into this job, until the end of the block."""
    over = threading.Event()

    def answer() -> None:
        while not over.is_set():
            for look in waiting(worker):
                answers(worker, job, look, sight)
            time.sleep(0.01)

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
