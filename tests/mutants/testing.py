"""Guards of the sandbox in which users test their tasks, and of clients on other systems."""

from tests.mutants.mutant import Mutant, python_mutant

_TESTS = "tests/testing/test_sandbox.py::"

TESTING: tuple[Mutant, ...] = (
    python_mutant(
        "a test without the fixture uses the database of the developer",
        "testing/plugin.py",
        "if not client.has_url:",
        "if False:",
        "tests/testing/test_plugin.py"
        "::test_a_test_without_the_fixture_does_not_touch_the_database_of_the_developer",
    ),
    python_mutant(
        "the workers of pytest-xdist have a server each",
        "testing/plugin.py",
        "node.workerinput[_SHARED] = {",
        "_ = {",
        "tests/testing/test_plugin.py::test_the_workers_of_xdist_share_one_server_and_one_template",
    ),
    python_mutant(
        "a planned stop that nothing reaches goes unnoticed",
        "testing/sandbox.py",
        "if missed and kind is None:",
        "if False:",
        _TESTS + "test_a_trigger_that_nothing_reaches_fails_the_test",
    ),
    python_mutant(
        "two sandboxes are open at once",
        "testing/sandbox.py",
        'if isinstance(getattr(Client.before_use, "__self__", None), Sandbox):',
        "if False:",
        _TESTS + "test_every_app_uses_the_sandbox_and_gets_its_own_database_back",
    ),
    python_mutant(
        "an app keeps the database of a sandbox",
        "testing/sandbox.py",
        "restore()",
        "del restore",
        _TESTS + "test_every_app_uses_the_sandbox_and_gets_its_own_database_back",
    ),
    python_mutant(
        "a run keeps the jobs that it claimed besides its own",
        "testing/worker.py",
        "store.finish(worker, [_untouched(job) for job in back])",
        "del back",
        _TESTS + "test_a_run_takes_its_own_job_and_the_children_it_waits_for",
    ),
    python_mutant(
        "an attempt that a test kills is not killed",
        "testing/attempts.py",
        "os.kill(os.getpid(), signal.SIGKILL)",
        "pass",
        _TESTS + "test_a_killed_job_cleans_up_nothing_and_runs_again[process]",
    ),
    python_mutant(
        "a drain runs what is scheduled for later",
        "testing/worker.py",
        "if job.started_at and job.waiting is Reason.TIME",
        "if job.waiting is Reason.TIME",
        _TESTS + "test_a_drain_runs_children_and_retries_but_nothing_that_is_scheduled_for_later",
    ),
    python_mutant(
        "a trigger is used more than once",
        "testing/triggers.py",
        "return not self.is_done and self.task in (None, task)",
        "return self.task in (None, task)",
        _TESTS + "test_a_job_is_cancelled_at_the_event_that_a_test_names",
    ),
    python_mutant(
        "a database of another program is dropped as one of a killed run",
        "testing/databases.py",
        '{{8}}_{_MADE_HERE}"',
        '{{8}}_"',
        "tests/testing/test_plugin.py::test_no_database_is_dropped_that_no_test_run_has_made",
    ),
    python_mutant(
        "databases are dropped that only begin like those of a run",
        "testing/databases.py",
        'f"^{re.escape(self._prefix)}_{_MADE_HERE}"',
        'f"^{re.escape(self._prefix)}"',
        "tests/testing/test_plugin.py::test_no_database_is_dropped_that_no_test_run_has_made",
    ),
    python_mutant(
        "an option of the URL decides which database tests change",
        "testing/databases.py",
        'if it and not it.startswith("dbname=")',
        "if it",
        "tests/testing/test_plugin.py"
        "::test_any_form_of_the_url_of_a_server_leads_to_a_database_of_its_own",
    ),
    python_mutant(
        "a server that is away fails tests that do not use it",
        "testing/plugin.py",
        "with suppress(StoreUnavailable):",
        "with suppress():",
        "tests/testing/test_plugin.py"
        "::test_a_server_that_is_away_does_not_fail_tests_that_do_not_use_it",
    ),
    python_mutant(
        "a worker on another system begins and fails later",
        "runtime/platforms.py",
        'if sys.platform == "linux" or (PORTABLE and sys.platform != "win32"):',
        "if True:",
        "tests/public/test_platforms.py::test_a_worker_refuses_in_a_sentence[darwin]",
    ),
    python_mutant(
        "a system without an embedded PostgreSQL gets a traceback",
        "control/client.py",
        "if error.name not in UNIX_MODULES:",
        "if True:",
        "tests/public/test_platforms.py::test_without_a_url_windows_has_no_database",
    ),
)
