"""How jobs of any peer tell the measuring process what happened."""

import os
from pathlib import Path

from bench.peers.programs.notes import Notes


def test_counts_are_kept_by_worker(tmp_path: Path) -> None:
    first, second, reader = Notes(tmp_path, "1"), Notes(tmp_path, "2"), Notes(tmp_path)
    for notes in (first, first, second):
        notes.count()
    assert reader.counted() == {"1": 2, "2": 1}


def test_a_forked_child_has_a_counter_of_its_own(tmp_path: Path) -> None:
    notes = Notes(tmp_path, "1")
    notes.count()
    child = os.fork()
    if child == 0:
        notes.count()
        os._exit(0)
    os.waitpid(child, 0)
    notes.count()
    assert Notes(tmp_path).counted() == {"1": 3}


def test_events_are_found_by_what_and_key(tmp_path: Path) -> None:
    notes = Notes(tmp_path)
    assert notes.first("entered", "a") is None
    notes.note("entered", "a")
    notes.note("entered", "b")
    notes.note("stopped", "a")
    assert [event.key for event in notes.noted("entered")] == ["a", "b"]
    assert notes.first("stopped", "a") == next(notes.noted("stopped"))
    assert notes.wait_for("stopped", "b", 0.01) is None
    notes.forget()
    assert list(notes.noted("entered")) == []
