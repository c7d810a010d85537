"""Guards of the worker: its lease, its guard, and what a runner hands from one job to the next."""

from tests.mutants.mutant import Mutant, python_mutant

RUNTIME: tuple[Mutant, ...] = (
    python_mutant(
        "the watcher creates files in a folder that is being removed",
        "store/embedded/watcher.py",
        "Lock.flags = os.O_RDWR",
        "Lock.flags = os.O_RDWR | os.O_CREAT",
        "tests/system/embedded/test_crashes.py"
        "::test_a_watcher_puts_nothing_back_into_a_folder_that_is_being_removed",
    ),
    python_mutant(
        "an interrupt has no time to be read before a signal follows",
        "runtime/keeper/stops/interrupts.py",
        "if number in waiting and loop.time() >= waiting[number] + patience:",
        "if number in waiting:",
        "tests/runtime/test_stops_of_many.py"
        "::test_an_interrupt_has_its_time_before_a_signal_follows",
    ),
    python_mutant(
        "each attempt that ends has the loop surveyed again",
        "runtime/runner/remainder.py",
        "if (took := time.monotonic() - began) > _FREE:",
        "if (took := time.monotonic() - began) > 99:",
        "tests/runtime/test_stops_of_many.py"
        "::test_attempts_that_end_one_after_the_other_share_surveys",
    ),
    python_mutant(
        "threads trip over one another in the kept statements",
        "store/transport.py",
        "with suppress(RuntimeError):",
        "with suppress(KeyError):",
        "tests/store/test_store.py"
        "::test_threads_that_call_for_many_tenants_share_the_kept_statements",
    ),
    python_mutant(
        "statements are prepared behind a pooler",
        "store/transport.py",
        "if row[0] == connection.pgconn.backend_pid:",
        "if row[0]:",
        "tests/store/test_connection_pool.py"
        "::test_a_connection_to_another_backend_prepares_nothing",
    ),
    python_mutant(
        "a cancel that the driver loses is lost",
        "store/dedicated_connection.py",
        "with raise_lost_cancel(): return await waiting",
        "if True:\n                return await waiting",
        "tests/store/test_serial_connection.py"
        "::test_a_cancel_that_the_driver_loses_is_raised_all_the_same[wait_async]",
    ),
    python_mutant(
        "a task factory that a job replaced also makes the tasks of the next job",
        "runtime/runner/loop.py",
        "self._restore_task_factory()  # the last job may have replaced it",
        "pass",
        "tests/runtime/test_runner_faults.py::"
        "test_a_task_is_owned_by_its_job_after_another_job_replaced_the_task_factory[auto]",
    ),
    python_mutant(
        "an artifact that is being written is lost with the end of its job",
        "runtime/runner/remainder.py",
        "while attempt.writes and not attempt.asked:",
        "while False:",
        "tests/runtime/test_conformance.py"
        "::test_an_artifact_that_is_still_being_written_when_the_code_ends_is_kept[async]",
    ),
    python_mutant(
        "a large result goes into a row",
        "runtime/large_values.py",
        "if len(text) <= in_row:",
        "if True:",
        "tests/testing/test_sandbox.py::test_settings_of_the_app_hold",
    ),
    python_mutant(
        "jobs of a runner that is ended are cancelled",
        "runtime/keeper/runs/endings.py",
        'if run.cause in ("drain", "preemption", "runner") and',
        'if run.cause in ("drain", "preemption") and',
        "tests/system/test_ending_runners.py"
        "::test_all_jobs_in_a_runner_that_is_ended_are_given_back",
    ),
    python_mutant(
        "the record of a stop whose end cannot be written stays open",
        "runtime/keeper/database/unwritten_endings.py",
        "self.database.retry_in_background(call, self.tenant.name)",
        "del call",
        "tests/system/test_unwritten_ends.py::test_a_stop_whose_end_cannot_be_written_is_failed_"
        "and_taken_up_by_cancelling_again[when it is written]",
    ),
    python_mutant(
        "a second signal to a service does not hurry the worker inside",
        "runtime/serving.py",
        "loop.call_soon_threadsafe(handle)",
        "pass",
        "tests/system/test_serving_inside.py"
        "::test_a_second_signal_to_the_server_hurries_the_worker_inside[2]",
    ),
    python_mutant(
        "a server that was told in code to reload is not recognized",
        "runtime/serving.py",
        'f_locals.get("config"), "reload", False',
        'f_locals.get("config"), "", False',
        "tests/system/test_serving_inside.py"
        "::test_under_a_server_that_reloads_the_drain_is_short[code]",
    ),
    python_mutant(
        "the settings do not say how far a stop may go",
        "domain/options.py",
        "Rung(settings.last_rung)",
        "Rung.KILLED",
        "tests/runtime/test_limits.py::test_an_app_has_defaults_for_asking_and_for_the_last_rung",
    ),
    python_mutant(
        "every short job has a line in the log",
        "runtime/keeper/runs/attempt_log.py",
        "given = min(wanted, self._left)",
        "given = wanted",
        "tests/runtime/test_line_limit.py::test_what_is_beyond_the_limit_is_counted_and_told_once",
    ),
    python_mutant(
        "a worker talks about dead workers of other projects",
        "runtime/keeper/worker_process.py",
        "for found in self._reaped if found.database == database]",
        "for found in self._reaped]",
        "tests/observe/test_worker_logs.py::test_dead_workers_of_other_projects_are_not_logged",
    ),
    python_mutant(
        "what undoes a job shows its secrets",
        "runtime/executors/rollback.py",
        'undo.read_arguments(args), job["secret"] or ())',
        "undo.read_arguments(args))",
        "tests/control/test_secrets.py::test_what_undoes_a_task_shows_no_more_than_the_task_did",
    ),
    python_mutant(
        "a freeze stops the runner and not its children",
        "runtime/guard/processes.py",
        "ahead.extend(below)",
        "ahead.extend([])",
        "tests/runtime/test_guard.py::test_freeze_and_thaw",
    ),
    python_mutant(
        "runners continue past the deadline of their keeper",
        "runtime/guard/freezer.py",
        "self.phase is Phase.RUNNING and not self.keeper_is_trusted:",
        "False:",
        "tests/runtime/test_guard_deaths.py"
        "::test_a_keeper_frozen_past_its_deadline_has_its_runners_frozen",
    ),
    python_mutant(
        "a runner outlives its guard",
        "runtime/guard/spawn.py",
        "die_with_parent() if os.getppid() != guard:",
        "if os.getppid() != guard:",
        "tests/runtime/test_guard_deaths.py"
        "::test_keeper_and_guard_killed_at_once_take_the_runner_with_them",
    ),
    python_mutant(
        "a forked runner outlives its guard",
        "runtime/runner/fork_server.py",
        'die_with_parent() if os.getppid() != request["guard"]:',
        'if os.getppid() != request["guard"]:',
        "tests/system/test_forked_runners.py::test_a_forked_runner_dies_with_the_guard",
    ),
    python_mutant(
        "a forked runner carries the mark of the fork server",
        "runtime/runner/fork_server.py",
        "ctypes.memmove(self._address, mark.encode(), len(mark))",
        "pass",
        "tests/system/test_forked_runners.py"
        "::test_a_forked_runner_is_a_child_of_the_guard_with_marks_and_numbers_of_its_own",
    ),
    python_mutant(
        "a forked runner stays below the fork server",
        "runtime/runner/fork_server.py",
        "leave_orphans()",
        "pass",
        "tests/system/test_forked_runners.py"
        "::test_a_forked_runner_is_a_child_of_the_guard_with_marks_and_numbers_of_its_own",
    ),
    python_mutant(
        "a forked runner shares the session of the fork server",
        "runtime/runner/fork_server.py",
        "os.setsid()",
        "pass",
        "tests/system/test_forked_runners.py"
        "::test_a_forked_runner_is_a_child_of_the_guard_with_marks_and_numbers_of_its_own",
    ),
    python_mutant(
        "a forked runner does not wait for its parent",
        "runtime/runner/fork_server.py",
        "_wait_for_end(between) os.close",
        "os.close",
        "tests/system/test_forked_runners.py"
        "::test_a_forked_runner_is_a_child_of_the_guard_with_marks_and_numbers_of_its_own",
    ),
    python_mutant(
        "a fork server that does not answer stays",
        "runtime/keeper/runs/runner_launcher.py",
        "await self._guard.kill(server.pid)",
        "pass",
        "tests/system/test_forked_runners.py"
        "::test_a_frozen_fork_server_delays_a_runner_and_does_not_prevent_it",
    ),
    python_mutant(
        "a thread that is just ending prevents forks",
        "runtime/runner/fork_check.py",
        "if time.monotonic() >= until:",
        "if True:",
        "tests/runtime/test_fork_check.py"
        "::test_a_thread_that_is_still_listed_for_a_moment_is_no_obstacle",
    ),
    python_mutant(
        "a fork server that died is not replaced",
        "runtime/keeper/runs/runner_launcher.py",
        "if how.code == 0 or self._guard.is_gone:",
        "if True:",
        "tests/system/test_forked_runners.py"
        "::test_a_killed_fork_server_costs_no_job_and_its_successor_has_the_code_of_now",
    ),
    python_mutant(
        "an app with threads is forked",
        "runtime/runner/fork_check.py",
        '_counted("thread", _threads()),',
        "",
        "tests/runtime/test_fork_check.py::test_what_does_not_survive_a_fork_is_named[a thread]",
    ),
    python_mutant(
        "an app that holds a lock on a file is forked",
        "runtime/runner/fork_check.py",
        'if is_log and b"lock:" not in read(f"/proc/self/fdinfo/{fd}"):',
        "if is_log:",
        "tests/runtime/test_fork_check.py"
        "::test_what_does_not_survive_a_fork_is_named[a locked file]",
    ),
    python_mutant(
        "fork is not refused where it is impossible",
        "runtime/keeper/runs/runner_launcher.py",
        'if wanted == "fork" and obstacle:',
        "if False:",
        "tests/system/test_forked_runners.py::test_fork_is_refused_where_it_is_impossible",
    ),
    python_mutant(
        "claims that stand still are not seen by a probe",
        "runtime/keeper/services/probes.py",
        "if (stalled := now - self._moved_at) > self._patience:",
        "if (stalled := now - self._moved_at) < 0:",
        "tests/observe/test_probes.py::test_a_worker_whose_claims_stand_still_is_not_live",
    ),
    python_mutant(
        "a worker whose claims are not answered is ready",
        "runtime/keeper/services/probes.py",
        "if self.exchanges and unanswered > self._patience:",
        "if False:",
        "tests/observe/test_probes.py::test_a_locked_table_makes_a_worker_unready_but_not_dead",
    ),
    python_mutant(
        "orphans of coroutines are not found in the portable mode",
        "runtime/guard/processes.py",
        "if carries(pid, RUNNER, mark)]",
        "if False]",
        "tests/system/test_portable.py"
        "::test_a_child_that_hides_outlives_a_stop_which_it_does_not_on_linux",
    ),
    python_mutant(
        "a worker that was declared dead works on",
        "runtime/keeper/database/lease_renewal.py",
        "if not answer.alive:",
        "if False:",
        "tests/runtime/test_lease.py::test_a_worker_learns_between_two_beats_that_it_was_declared_dead",
    ),
    python_mutant(
        "signals keep a worker from renewing its lease",
        "runtime/keeper/database/lease_renewal.py",
        "while loop.time() < until:",
        "while True:",
        "tests/runtime/test_lease.py"
        "::test_a_constant_stream_of_signals_does_not_delay_the_renewal_of_the_lease",
    ),
    python_mutant(
        "a job sees the environment of the job before it",
        "runtime/runner/environment.py",
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
        "::test_a_cancelled_job_leaves_nothing_behind[ctypes_fork-async-graceful]",
    ),
    python_mutant(
        "a stop overlooks threads of unknown origin",
        "runtime/runner/survey.py",
        "in self._threads.items() if at >= began",
        "in ()",
        "tests/hostile/test_threads.py"
        "::test_a_cancelled_job_leaves_nothing_behind[c_thread_with_python-async-graceful]",
    ),
    python_mutant(
        "a stop leaves callbacks in the event loop",
        "runtime/runner/callbacks.py",
        'yield Callback(owner_in(handle._context), f"the callback {name}", handle.cancel)',
        "continue",
        "tests/hostile/test_loop.py"
        "::test_a_cancelled_job_leaves_nothing_behind[call_later_chain-async-graceful]",
    ),
    python_mutant(
        "a forked runner that is late lives on unused",
        "runtime/keeper/runs/runner_launcher.py",
        "runner.signal(signal.SIGKILL)",
        "pass",
        "tests/system/test_forked_runners.py"
        "::test_a_forked_runner_that_says_nothing_in_time_is_not_left_behind",
    ),
    python_mutant(
        "a job that exits is not reported to Sentry",
        "contrib/sentry.py",
        "except (Exception, SystemExit) as error:",
        "except Exception as error:",
        "tests/docs/test_observability.py"
        "::test_the_only_runner_reports_an_attempt_that_it_has_outlived",
    ),
    python_mutant(
        "the only runner of a tenant does not report what it has outlived",
        "runtime/keeper/runs/lost_attempts.py",
        "if tenant == run.tenant and not runner.retired",
        "if tenant == run.tenant and runner is not run.runner and not runner.retired",
        "tests/docs/test_observability.py"
        "::test_the_only_runner_reports_an_attempt_that_it_has_outlived",
    ),
)
