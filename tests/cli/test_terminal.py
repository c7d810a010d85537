"""In a real terminal: colours, what moves, questions, Ctrl-C; and without one, none of it."""

import os
import subprocess

import pytest

from tenure.domain.lifecycle import State
from tenure.store.store import Store
from tests.cli.running import COMMAND, process, terminal
from tests.cli.test_job_cancel import Workshop
from tests.cli.test_job_watch import Going
from tests.factories import make_job, make_job_in

ESCAPE = "\x1b["


def test_a_terminal_has_colours_and_a_pipe_has_none(database: str, store: Store) -> None:
    make_job_in(store, State.COMPLETED)
    with terminal(database, "job", "list") as shown:
        assert shown.ends() == 0
    assert f"{ESCAPE}32mcompleted" in shown.raw
    piped = process(database, "job", "list")
    assert ESCAPE not in piped.out
    forced = process(database, "job", "list", "--json", FORCE_COLOR="1")
    assert ESCAPE not in forced.out


@pytest.mark.parametrize("variable", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_nobody_is_given_colours_who_does_not_want_them(
    database: str, store: Store, variable: dict[str, str]
) -> None:
    make_job_in(store, State.COMPLETED)
    with terminal(database, "job", "list", env=variable) as shown:
        assert shown.ends() == 0
    assert f"{ESCAPE}32m" not in shown.raw
    assert "completed" in shown.text


def test_a_long_table_fits_the_terminal(database: str, store: Store) -> None:
    make_job(store, "work", key="k" * 200)
    with terminal(database, "job", "list", width=60) as shown:
        assert shown.ends() == 0
    database_line, *table = shown.text.splitlines()
    assert database_line.startswith("Database: ")
    assert all(len(line) <= 60 for line in table)
    assert "…" in shown.text


def test_a_job_is_watched_with_a_bar(database: str, store: Store) -> None:
    going = Going(store)
    with terminal(database, "job", "watch", "1") as shown:
        going.tell(1)
        shown.shows("50%")
        shown.shows("page 1")
        shown.shows("━━━")
        going.tell(2)
        shown.shows("100%")
        going.worker.finish(going.job, value=7)
        shown.shows("Job 1 is completed")
        assert shown.ends() == 0
    assert f"{ESCAPE}?25h" in shown.raw, "the cursor was not given back"


def test_ctrl_c_ends_the_watching_and_not_the_job(database: str, store: Store) -> None:
    going = Going(store)
    with terminal(database, "job", "watch", "1") as shown:
        going.tell(1)
        shown.shows("50%")
        shown.types("\x03")
        shown.shows("Job 1 continues.")
        assert shown.ends() == 130
    assert "Traceback" not in shown.text
    assert store.show(1).state is State.RUNNING


def test_a_running_stop_is_animated_and_its_final_output_equals_that_of_a_pipe(
    database: str, store: Store
) -> None:
    workshop = Workshop(store)
    with terminal(database, "job", "cancel", "chat-app-implementation") as shown:
        shown.shows("Terminating 3 runners, 3 left")
        workshop.stop()
        shown.shows("Status: COMPLETED")
        assert shown.ends() == 0
    last = shown.text.rpartition("Terminating")[2]
    assert "✓ Terminated 3 runners" in last
    assert f"{ESCAPE}32m✓" in shown.raw


def test_ctrl_c_ends_the_waiting_and_not_the_stop(database: str, store: Store) -> None:
    workshop = Workshop(store)
    with terminal(database, "job", "cancel", "chat-app-implementation") as shown:
        shown.shows("Terminating 3 runners")
        shown.types("\x03")
        shown.shows("The stop continues: cancel-000001. See tenure job cancel-status 1")
        assert shown.ends() == 130
    assert "Traceback" not in shown.text
    workshop.stop()
    assert store.cancellation("cancel-000001").status == "completed"


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("", 1)])
def test_who_can_be_asked_is_asked(database: str, store: Store, answer: str, code: int) -> None:
    for _ in range(3):
        make_job(store, queue="crawl")
    with terminal(database, "job", "cancel", "--where", "queue=crawl") as shown:
        shown.shows("This cancels 3 jobs and all jobs below for good")
        shown.shows("Continue? [y/N]")
        shown.types(f"{answer}\n")
        shown.shows("Status: COMPLETED" if code == 0 else "Nothing was done.")
        assert shown.ends() == code
    left = 0 if code == 0 else 3
    assert store.statistics().by_status.get("queued", 0) == left


def test_a_reader_who_has_seen_enough_is_no_error(database: str, store: Store) -> None:
    make_job(store)
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [COMMAND, "job", "list", "--url", database], stdout=writing, stderr=subprocess.PIPE
    )
    os.close(writing)
    [line] = done.stderr.splitlines()
    assert (done.returncode, line[:9]) == (1, b"Database:")
