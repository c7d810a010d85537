"""The run times that a worker measures, and which of them it sends with its heartbeat."""

from tenure.runtime.keeper.runs import run_times
from tenure.runtime.keeper.runs.run_times import MeasuredTimes


def test_times_are_sent_again_until_the_database_has_them() -> None:
    measured = MeasuredTimes()
    measured.note("crawl", 2.0)
    lost = measured.changed()
    assert lost == measured.changed() == {"crawl": 2.0}
    measured.acknowledge(lost)
    assert measured.changed() == {}


def test_only_a_time_that_has_changed_much_is_sent() -> None:
    measured = MeasuredTimes()
    measured.note("crawl", 1.0)
    measured.acknowledge(measured.changed())
    measured.note("crawl", 1.1)
    assert measured.changed() == {}
    measured.note("crawl", 9.0)
    assert measured.changed().keys() == {"crawl"}


def test_what_is_too_much_for_one_beat_is_sent_with_the_next() -> None:
    measured = MeasuredTimes()
    tasks = {f"task-{n}" for n in range(run_times._AT_ONCE + 1)}
    for task in tasks:
        measured.note(task, 1.0)
    first = measured.changed()
    measured.acknowledge(first)
    assert measured.changed().keys() == tasks - first.keys()
