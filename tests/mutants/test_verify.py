"""A mutant that proves nothing any more is found without a database."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from tests.mutants import __main__ as command
from tests.mutants.catalogue import MUTANTS, part_of
from tests.mutants.mutant import ROOT, Mutant, mutated_copy, python_mutant
from tests.mutants.trial import run_mutated
from tests.mutants.verify import problems
from tests.workers import eventually

LEASE = "runtime/keeper/database/lease_renewal.py"
TEST = "tests/mutants/test_verify.py::test_a_sound_mutant_is_not_complained_about"
SOUND = python_mutant("a dead worker works on", LEASE, "if not answer.alive:", "if False:", TEST)


def test_a_sound_mutant_is_not_complained_about() -> None:
    assert problems([SOUND]) == []
    assert problems([replace(SOUND, killed_by=(f"{TEST}[case]",))]) == []


@pytest.mark.parametrize(
    ("mutant", "problem"),
    [
        (
            replace(SOUND, changes=(("if answer.is_not_there:", ""),)),
            f"a dead worker works on: 'if answer.is_not_there:' is 0 times in {LEASE}, not once",
        ),
        (
            replace(SOUND, changes=(("self.lease.wake.clear()", ""),)),
            f"a dead worker works on: 'self.lease.wake.clear()' is 2 times in {LEASE}, not once",
        ),
        (
            replace(SOUND, file="runtime/no_such_file.py"),
            "a dead worker works on: there is no file src/tenure/runtime/no_such_file.py",
        ),
        (
            replace(SOUND, changes=(("if not answer.alive:", "if:"),)),
            f"a dead worker works on: {LEASE} is no Python with this change: invalid syntax",
        ),
        (
            replace(SOUND, killed_by=("claim::test_no_such_test",)),
            "a dead worker works on: there is no test tests/store/test_claim.py::test_no_such_test",
        ),
        (
            replace(SOUND, killed_by=("no_such_file::test_x",)),
            "a dead worker works on: there is no test tests/store/test_no_such_file.py::test_x",
        ),
        (
            replace(SOUND, killed_by=()),
            "a dead worker works on: no test is named that kills it",
        ),
    ],
    ids=["stale", "twice", "no file", "no python", "no test", "no test file", "nobody named"],
)
def test_a_mutant_that_proves_nothing_is_named_with_the_reason(
    mutant: Mutant, problem: str
) -> None:
    [found] = problems([mutant])
    assert found.startswith(problem)


def test_two_mutants_of_one_name_are_refused() -> None:
    assert problems([SOUND, SOUND]) == ["a dead worker works on: 2 mutants have this name"]


@pytest.mark.parametrize("missing", ["text", "test"])
def test_the_command_ends_with_1_for_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], missing: str
) -> None:
    broken = {
        "text": replace(SOUND, changes=(("no such text", ""),)),
        "test": replace(SOUND, killed_by=("claim::test_no_such_test",)),
    }[missing]
    monkeypatch.setattr(sys, "argv", ["tests.mutants", "--verify"])

    monkeypatch.setattr(command, "MUTANTS", (SOUND,))
    assert command.main() == 0
    monkeypatch.setattr(command, "MUTANTS", (SOUND, broken))
    assert command.main() == 1
    assert f"no such {missing}" in capsys.readouterr().out.replace("_", " ")


@pytest.mark.parametrize("parts", [1, 5, 2 * len(MUTANTS)])
def test_every_mutant_is_in_one_part(parts: int) -> None:
    found = [part_of(MUTANTS, part, parts) for part in range(1, parts + 1)]
    assert sorted(mutant.name for part in found for mutant in part) == sorted(
        mutant.name for mutant in MUTANTS
    )


def test_every_process_of_a_test_runs_the_mutated_copy() -> None:
    changed = python_mutant("renamed", "cli/main.py", "Jobs on PostgreSQL:", "A mutant:", TEST)
    with mutated_copy(changed) as folder:
        script = Path(sys.executable).with_name("tenure")
        for program in ([sys.executable, "-m", "tenure"], [str(script)]):
            assert "A mutant: nothing is lost" in _output(folder, *program, "--help")
        guard = "from tenure.runtime import guarding; print(guarding.PROGRAM)"
        assert _output(folder, sys.executable, "-c", guard).startswith(str(folder))


def _output(folder: Path, *program: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(
        program, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_what_a_mutated_run_leaves_behind_is_killed(tmp_path: Path) -> None:
    test = tmp_path / "test_leaving.py"
    test.write_text(
        "import pathlib, subprocess\n"
        "def test_leaves_a_process():\n"
        "    process = subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
        f"    pathlib.Path({str(tmp_path / 'pid')!r}).write_text(str(process.pid))\n"
        "    process.returncode = 0\n"  # so that nobody warns of it
    )
    trial = run_mutated(SOUND, str(test), "-q")
    assert trial.code == 0, trial.output
    pid = int((tmp_path / "pid").read_text())
    eventually(lambda: not psutil.pid_exists(pid), f"the end of process {pid}")
