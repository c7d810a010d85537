"""Guards of the worker: its lease, its guard, and what a runner hands from one job to the next."""

from tests.mutants.mutant import Mutant, python_mutant

RUNTIME: tuple[Mutant, ...] = (
    python_mutant(
        "a freeze stops the runner and not its children",
        "runtime/guard/processes.py",
        "ahead.extend(below)",
        "ahead.extend([])",
        "tests/runtime/test_guard.py::test_freeze_and_thaw",
    ),
    python_mutant(
        "runners go on past the deadline of their keeper",
        "runtime/guard/freezer.py",
        "self.phase is Phase.RUNNING and not self.keeper_is_trusted:",
        "False:",
        "tests/runtime/test_guard_deaths.py"
        "::test_a_keeper_frozen_past_its_deadline_has_its_runners_frozen",
    ),
    python_mutant(
        "a runner outlives its guard",
        "runtime/guard/birth.py",
        "die_with_parent() if os.getppid() != guard:",
        "if os.getppid() != guard:",
        "tests/runtime/test_guard_deaths.py"
        "::test_keeper_and_guard_killed_at_once_take_the_runner_with_them",
    ),
    python_mutant(
        "a worker that was declared dead works on",
        "runtime/keeper/lease.py",
        "if not answer.alive:",
        "if False:",
        "tests/runtime/test_lease.py::test_who_was_declared_dead_hears_so_between_two_beats",
    ),
    python_mutant(
        "signals keep a worker from renewing its lease",
        "runtime/keeper/lease.py",
        "while loop.time() < until:",
        "while True:",
        "tests/runtime/test_lease.py"
        "::test_who_is_told_something_all_the_time_renews_its_lease_nevertheless",
    ),
    python_mutant(
        "a job sees the environment of the job before it",
        "runtime/runner/surroundings.py",
        "self._restore_variables()",
        "pass",
        "tests/runtime/test_runner_faults.py"
        "::test_a_function_finds_everything_as_the_one_before_it_did",
    ),
    python_mutant(
        "a stop overlooks processes of unknown origin",
        "runtime/runner/survey.py",
        "in self._processes.items() if at >= began",
        "in ()",
        "tests/hostile/test_processes_in_loops.py"
        "::test_nothing_of_it_is_left_when_it_is_cancelled[ctypes_fork-async-graceful]",
    ),
    python_mutant(
        "a stop overlooks threads of unknown origin",
        "runtime/runner/survey.py",
        "in self._threads.items() if at >= began",
        "in ()",
        "tests/hostile/test_threads.py"
        "::test_nothing_of_it_is_left_when_it_is_cancelled[c_thread_with_python-async-graceful]",
    ),
    python_mutant(
        "a stop leaves callbacks in the event loop",
        "runtime/runner/callbacks.py",
        'yield Callback(owner_in(handle._context), f"the callback {name}", handle.cancel)',
        "continue",
        "tests/hostile/test_loop.py"
        "::test_nothing_of_it_is_left_when_it_is_cancelled[call_later_chain-async-graceful]",
    ),
)
