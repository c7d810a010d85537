"""Guards of plain functions that are claimed and run in batches."""

from tests.mutants.mutant import Mutant, mutant, python_mutant

_QUEUED = "tests/runtime/test_queued_functions.py"
_BATCHES = "tests/system/test_functions_in_batches.py"

BATCHES: tuple[Mutant, ...] = (
    python_mutant(
        "as many functions are claimed ahead as one run suggests",
        "runtime/keeper/runs/run_times.py",
        "return min(int(HORIZON / max(slowest, _SHORTEST)), seen, MAX_AHEAD)",
        "return min(int(HORIZON / max(slowest, _SHORTEST)), MAX_AHEAD)",
        f"{_QUEUED}::test_the_first_job_is_claimed_alone_and_quick_ones_in_growing_numbers",
    ),
    python_mutant(
        "functions are claimed to wait behind a long one",
        "runtime/keeper/runs/process_group.py",
        "asyncio.get_running_loop().time() - began > HORIZON:",
        "False:",
        f"{_QUEUED}::test_nothing_is_claimed_to_wait_behind_a_function_that_runs_for_long",
    ),
    python_mutant(
        "functions stay behind a long one",
        "runtime/keeper/runs/process_group.py",
        "(began is not None and now - began >= TAKE_BACK_AFTER)",
        "False",
        f"{_QUEUED}::test_a_function_behind_a_long_one_moves_to_a_process_that_is_idle",
    ),
    python_mutant(
        "functions behind a long one are kept from other workers",
        "runtime/keeper/runs/supervisor.py",
        "self.conclusions.give_back(run)",
        "pass",
        f"{_QUEUED}::test_a_function_behind_a_long_one_is_given_back",
        f"{_BATCHES}::test_functions_queued_behind_a_long_one_are_released_and_run_on_another_worker",
    ),
    python_mutant(
        "a stop waits until a function has begun",
        "runtime/keeper/stops/ladder.py",
        "if run.started_at is None and self.withdraw(run):",
        "if run.runner is None and self.withdraw(run):",
        f"{_QUEUED}::test_a_stop_withdraws_a_function_that_has_not_begun",
    ),
    python_mutant(
        "functions that never began are charged with the death of their runner",
        "runtime/keeper/runs/supervisor.py",
        "done = [(run, endings.given_back(run)) for run in runner.take_back()]",
        "pass",
        f"{_QUEUED}::test_the_death_of_a_runner_is_charged_to_the_function_that_ran",
    ),
    python_mutant(
        "the endings that a dead runner had not sent are lost",
        "runtime/keeper/runs/supervisor.py",
        "self._ended(runner, runner.unsent_endings()) runner.note_begun()",
        "runner.note_begun()",
        f"{_QUEUED}::test_the_death_of_a_runner_is_charged_to_the_function_that_ran",
        f"{_BATCHES}"
        "::test_a_function_that_kills_its_process_is_charged_and_none_beside_it_runs_twice",
    ),
    python_mutant(
        "a function waits behind a suspect",
        "runtime/keeper/runs/process_group.py",
        "if not any(run.alone for run, _ in batches.get(runner, ()))",
        "",
        f"{_QUEUED}::test_nothing_waits_behind_a_suspect_nor_a_suspect_behind_anything",
    ),
    python_mutant(
        "the time limit of a function counts while it waits",
        "runtime/keeper/runs/runner.py",
        "if not is_busy: self._mark_started(runs[:1])",
        "self._mark_started(runs)",
        f"{_QUEUED}::test_a_stop_withdraws_a_function_that_has_not_begun",
    ),
    python_mutant(
        "what waits in a runner that is replaced is lost with it",
        "runtime/keeper/runs/conclusions.py",
        "group.take_back(runner)",
        "pass",
        f"{_QUEUED}::test_a_runner_that_is_replaced_hands_on_what_waits_in_it",
    ),
    python_mutant(
        "a tenant with quick functions keeps the others waiting",
        "runtime/keeper/database/dispatcher.py",
        "if any(other is not exchange for other in self._waiting):",
        "if False:",
        f"{_QUEUED}::test_another_tenant_that_waits_is_served_before_more_is_claimed_ahead",
    ),
    python_mutant(
        "the output of a function is taken for that of the next",
        "runtime/runner/process_endings.py",
        "if has_output and not is_last: self._wait_for_reader(ended.run)",
        "",
        f"{_BATCHES}::test_each_function_has_its_own_output_and_nobody_elses",
    ),
    python_mutant(
        "a process gets more functions than the settings allow",
        "runtime/keeper/runs/process_group.py",
        "if planned >= self._recycle_after:",
        "if False:",
        f"{_BATCHES}::test_no_process_has_more_functions_than_the_settings_allow",
    ).and_also("max(min(depth, self._recycle_after - runner.done) -", "max(depth -"),
    mutant(
        "a function starts when it is claimed",
        "complete_plainly",
        "CASE WHEN d.waited > 0 THEN least(j.started_at + make_interval(secs => d.waited), now_ts)"
        " ELSE j.started_at END",
        "j.started_at",
        f"{_BATCHES}::test_a_function_starts_when_it_begins_not_when_it_is_claimed",
    ),
    python_mutant(
        "a function that kills its process has started when it was claimed",
        "runtime/keeper/runs/endings.py",
        "error=error, runner=runner.name, waited=run.waited",
        "error=error, runner=runner.name",
        f"{_QUEUED}::test_a_run_that_lost_its_runner_started_when_it_began",
        f"{_BATCHES}::test_a_function_that_kills_its_process_started_when_it_began",
    ),
    python_mutant(
        "a start that nobody has noticed dies with its process",
        "runtime/keeper/runs/supervisor.py",
        "self._ended(runner, runner.unsent_endings()) runner.note_begun()",
        "self._ended(runner, runner.unsent_endings())",
        f"{_QUEUED}::test_a_run_that_lost_its_runner_started_when_it_began",
    ),
    python_mutant(
        "a function that waits is charged with the memory of another",
        "runtime/keeper/services/watchdog.py",
        "run.limits.memory if run.started_at is not None else None",
        "run.limits.memory",
        f"{_QUEUED}::test_the_memory_of_a_runner_is_not_that_of_a_function_that_waits",
    ),
    python_mutant(
        "a function that waits is preempted",
        "runtime/keeper/services/watchdog.py",
        "if run.started_at is not None ]",
        "]",
        f"{_QUEUED}::test_a_function_that_waits_has_no_process_to_give_to_a_higher_priority",
    ),
    python_mutant(
        "a process is killed for a function that waits and is lost",
        "runtime/keeper/runs/conclusions.py",
        "if run.started_at is None and self.withdraw(run):",
        "if False:",
        f"{_QUEUED}::test_a_function_that_waits_when_its_lease_is_lost_never_begins",
    ),
)
