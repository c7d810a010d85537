"""Guards of the integration with Django; the tests of its project notice."""

from tests.mutants.mutant import Mutant, python_mutant

_FILE = "tests/contrib/django/test_project.py::"
_PROJECT = _FILE + "test_the_tests_of_the_project_pass"

DJANGO: tuple[Mutant, ...] = (
    python_mutant(
        "a refusal breaks the transaction of Django",
        "contrib/django/application.py",
        "with transaction.atomic(using=self.alias):",
        "if True:",
        _PROJECT,
    ),
    python_mutant(
        "a job outside the transaction of Django is rolled back with it",
        "contrib/django/application.py",
        "if _is_outside.get():",
        "if False:",
        _PROJECT,
    ),
    python_mutant(
        "a wait inside a transaction of Django never ends",
        "contrib/django/application.py",
        "sleep = time.sleep if waits else _refuse_to_sleep",
        "sleep = time.sleep",
        _PROJECT,
    ),
    python_mutant(
        "a job in another database is enqueued before the commit",
        "contrib/django/backend.py",
        "if self._is_on_commit and app.is_separate and",
        "if False and",
        _FILE + "test_jobs_in_another_database_are_enqueued_after_the_commit",
    ),
    python_mutant(
        "connections of Django stay open after a job",
        "contrib/django/connections.py",
        "if _state.is_worker:",
        "if False:",
        _PROJECT,
    ),
    python_mutant(
        "a coroutine closes the cursor from which another one reads",
        "contrib/django/connections.py",
        "_close_broken_connections if _state.coroutines else close_old_connections",
        "close_old_connections",
        _PROJECT,
    ),
    python_mutant(
        "who may only view jobs in the admin site stops them",
        "contrib/django/admin.py",
        "role = Role.ADMIN if self.has_change_permission(request) else Role.VIEWER",
        "role = Role.ADMIN",
        _PROJECT,
    ),
    python_mutant(
        "the log of a job is lost where LOGGING disables loggers",
        "contrib/django/project.py",
        ".disabled = False",
        ".propagate = True",
        _PROJECT,
    ),
)
