"""The garbage collector of a runner runs rarely, unless job code has set its threshold."""

import subprocess
import sys

import pytest

from tests.apps import jobs

PROGRAM = """
import gc
from tenure.runtime.garbage import collect_rarely
before = gc.get_threshold()
{setting}
collect_rarely()
assert gc.get_freeze_count() > 0
print(gc.get_threshold()[0] > before[0], gc.get_threshold())
"""


def told(setting: str) -> str:
    program = [sys.executable, "-c", PROGRAM.format(setting=setting)]
    return subprocess.run(program, capture_output=True, text=True, check=True).stdout.strip()


def test_garbage_is_collected_rarely() -> None:
    assert told("").startswith("True (20000,")


@pytest.mark.parametrize("rhythm", [(0, 10, 10), (123, 4, 5)])
def test_a_rhythm_that_the_app_has_chosen_is_left_as_it_is(rhythm: tuple[int, int, int]) -> None:
    assert told(f"gc.set_threshold{rhythm}").endswith(str(rhythm))


@pytest.mark.usefixtures("worker", "app")
def test_the_loop_runner_collects_garbage_rarely() -> None:
    assert jobs.rhythm_of_the_collector.enqueue().result(timeout="60s") == 20_000
