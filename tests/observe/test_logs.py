"""Lines for people, or an object for each line."""

import json
import logging
import subprocess
import sys

import pytest

from tenure.observe import logs
from tests.workers import ROOT

PROGRAM = """
import logging, sys
from tenure.observe import logs

logs.configure(sys.argv[1], verbose=len(sys.argv) > 2)
log = logging.getLogger("tenure.worker")
log.debug("a beat")
log.info("job %d is %s", 7, "killed", extra={"job": 7, "tenant": "default", "arguments": "secret"})
logs.every_line_is_about(worker="w1")
try:
    1 / 0
except ZeroDivisionError:
    log.exception("two\\nlines and a \\udc80")
logs.change_format("text")
log.warning("in the end")
"""


def written(*options: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == ""
    return done.stderr.splitlines()


def test_json_has_a_line_for_each_and_says_what_it_is_about() -> None:
    first, second, third = written("json")
    told = json.loads(first)
    assert told.pop("time").endswith("Z")
    assert told == {
        "level": "info",
        "logger": "tenure.worker",
        "message": "job 7 is killed",
        "job": 7,
        "tenant": "default",
    }
    told = json.loads(second)
    assert (told["level"], told["worker"]) == ("error", "w1")
    assert told["message"] == "two\nlines and a \udc80"
    assert "ZeroDivisionError" in told["error"]
    assert third.endswith("WARNING in the end")


def test_text_is_for_people() -> None:
    first, *_, last = written("text")
    assert first.endswith(" INFO job 7 is killed")
    assert last.endswith(" WARNING in the end")


def test_what_is_for_debugging_is_written_when_it_is_wanted() -> None:
    assert not any("a beat" in line for line in written("text"))
    assert any("a beat" in line for line in written("text", "verbose"))


def test_fields_of_a_line_override_bound_fields(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(logs, "_of_process", {"worker": "w1", "tenant": "a"})
    record = logging.makeLogRecord({"msg": "x", "tenant": "b"})
    told = json.loads(logs.JsonLines().format(record))
    assert (told["worker"], told["tenant"]) == ("w1", "b")


FORGED = "left\n2030-01-01 12:00:00,000 ERROR forged \x1b[31mred\x07\u202e\u2028 \r\t\x9b1m"


def test_a_text_line_stays_a_single_line_whatever_it_contains() -> None:
    record = logging.makeLogRecord({"msg": "stop of job 7: %s", "args": (FORGED,)})
    text = logs.TextLines().format(record)
    assert len(text.splitlines()) == 1
    assert text.isprintable()
    assert text.endswith(
        r"left\n2030-01-01 12:00:00,000 ERROR forged \x1b[31mred\x07\u202e\u2028 \r\t\x9b1m"
    )


def test_a_traceback_cannot_be_taken_for_lines_of_the_log() -> None:
    try:
        int(FORGED)
    except ValueError:
        record = logging.makeLogRecord({"msg": "it failed", "exc_info": sys.exc_info()})
    first, *rest = logs.TextLines().format(record).split("\n")
    assert first.endswith("it failed")
    assert len(rest) > 3
    for line in rest:
        assert line.startswith("  | ")
        assert line.isprintable()
