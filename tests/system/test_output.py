"""Output of jobs, jobs that are programs, and a job that blocks its event loop."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tenure.domain.lifecycle import State
from tests.apps import output
from tests.system.stage import Jobs, Stage, staged
from tests.workers import eventually


@pytest.fixture(scope="module")
def stage(shared_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("worker")
    with staged(output.app, shared_database, folder, "output") as stage:
        yield stage


def lines_of(stage: Stage, job: int, n: int = 100) -> list[tuple[str, str]]:
    """Return level and text of the first lines in the job's log."""
    return [(line["level"], line["line"]) for line in stage.store.job_output(job, "logs", n=n)]


def all_lines_of(stage: Stage, job: int) -> list[tuple[str, str]]:
    lines: list[tuple[str, str]] = []
    above = 0
    while page := stage.store.job_output(job, "logs", above=above, n=1000):
        lines += [(line["level"], line["line"]) for line in page]
        above = page[-1]["id"]
    return lines


def output_of(stage: Stage, job: int) -> str:
    """Return the artifact with everything a program printed."""
    [artifact] = stage.store.show(job).artifacts
    assert artifact["name"] == "output.txt"
    return Path(str(artifact["url"]).removeprefix("file://")).read_text()


# Programs.


def test_the_output_of_a_program_is_in_its_log_and_kept_whole(stage: Stage) -> None:
    handle = output.says_hello.enqueue(name="you there; echo no")
    assert handle.result(timeout="20s") == {"exit_code": 0}
    assert ("stdout", "hello you there; echo no") in lines_of(stage, handle.id)
    assert output_of(stage, handle.id) == "hello you there; echo no\n"


def test_a_program_that_exits_with_another_code_has_failed(stage: Stage) -> None:
    handle = output.exits_with.enqueue(code=3)
    stage.watch.becomes(handle.id, State.FAILED)
    job = stage.store.show(handle.id)
    assert job.error["type"] == "tenure.errors.CommandFailed"
    assert (job.error_message or "").endswith("exited with code 3")
    assert output_of(stage, handle.id) == "on its way\n"


def test_a_program_that_is_not_there_has_failed(stage: Stage) -> None:
    handle = output.cannot_start.enqueue()
    stage.watch.becomes(handle.id, State.FAILED)
    message = stage.store.show(handle.id).error_message
    assert message == "'/nowhere/at/all' cannot be started: No such file or directory"


def program(stage: Stage, name: str, ears: str) -> Jobs:
    """Start a program that has a child in its own session, and wait until it runs."""
    pids, began = stage.folder / f"pids-of-{name}", stage.folder / f"began-{name}"
    handle = output.runs_on.enqueue(pids=str(pids), started=str(began), ears=ears)
    eventually(began.exists, "the program runs")
    (stage.folder / f"pids-{handle.id}").write_text(pids.read_text())
    return handle


def test_a_stop_ends_a_program_and_its_children(stage: Stage) -> None:
    handle = program(stage, "polite", "hears")
    stage.is_stopped(handle, stage.stop(handle), "interrupted")
    assert ("stdout", "the program runs") in lines_of(stage, handle.id)
    assert output_of(stage, handle.id) == "the program runs\n"


def test_a_program_that_ignores_sigterm_is_killed(stage: Stage) -> None:
    handle = program(stage, "deaf", "deaf")
    record = stage.stop(handle, grace="1s")
    stage.is_stopped(handle, record, "terminated", "killed")


def test_force_kills_a_program_and_its_children(stage: Stage) -> None:
    handle = program(stage, "forced", "hears")
    said = ("stdout", "the program runs")
    # Output that the runner has not read is lost.
    eventually(lambda: said in lines_of(stage, handle.id))
    record = stage.stop(handle, force=True)
    stage.is_stopped(handle, record, "killed")
    assert said in lines_of(stage, handle.id)


# Output of jobs.


def test_all_that_a_function_and_its_programs_print_is_in_its_log(stage: Stage) -> None:
    handle = output.prints_and_its_child_too.enqueue()
    handle.result(timeout="20s")
    assert set(lines_of(stage, handle.id)) == {
        ("stdout", "from the function"),
        ("stdout", "from the child"),
        ("stderr", "and its errors"),
        ("stdout", "past python"),
        ("stdout", "an unfinished line"),
    }


def test_what_a_coroutine_prints_is_in_its_log_and_what_its_program_prints_in_the_workers(
    stage: Stage,
) -> None:
    """In a loop runner, the output of a program cannot be attributed to one of its jobs."""
    handle = output.its_child_prints.enqueue()
    handle.result(timeout="20s")
    assert lines_of(stage, handle.id) == [("stdout", "from the coroutine")]
    stage.worker.says("stdout: from the child")


@pytest.mark.parametrize(
    "task",
    [output.prints_a_million_lines, output.prints_a_million_lines_async],
    ids=["process", "async"],
)
def test_a_million_lines_block_no_job_and_the_dropped_ones_are_counted(
    stage: Stage, task: Any
) -> None:
    handle = task.enqueue()
    other = output.says_hello.enqueue(name="beside it")
    assert other.result(timeout="20s") == {"exit_code": 0}
    assert handle.result(timeout="60s") == "not blocked"
    lines = all_lines_of(stage, handle.id)
    assert lines[:2] == [("stdout", "line 0"), ("stdout", "line 1")]
    assert lines[-1] == (
        "warning",
        "990000 lines of output were dropped: the limit of a job was reached",
    )
    assert len(lines) == 10_001


# A job that blocks its event loop.


def test_a_job_that_blocks_its_loop_is_told_where_and_completes(stage: Stage) -> None:
    handle = output.blocks_for_a_while.enqueue(4)
    assert handle.result(timeout="30s") == "continued"
    [(_, line)] = [one for one in lines_of(stage, handle.id) if one[0] == "warning"]
    assert line.startswith("it has blocked its event loop for ")
    assert "_this_is_where_it_blocks" in line
    assert f"job {handle.id} (tests.apps.output.blocks_for_a_while)" in stage.worker.log
    assert stage.store.show(handle.id).attempt == 1


def test_a_job_that_does_not_block_is_told_nothing(stage: Stage) -> None:
    handle = output.is_busy_but_turns.enqueue(2)
    began = time.monotonic()
    handle.result(timeout="30s")
    assert time.monotonic() - began >= 2
    assert lines_of(stage, handle.id) == []
