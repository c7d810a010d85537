"""What is typed, called and connected wrongly, and what is written where others could read it."""

from tests.mutants.mutant import Mutant, mutant, python_mutant

_CONNECTING = "tests/store/test_connection.py"
_USAGE = "tests/cli/test_usage.py"
_UNREACHABLE = "tests/cli/test_unreachable.py"
_CALLS = "tests/control/test_odd_calls.py"
_ODD = "tests/cli/test_odd_values.py"
_AT_ONCE = "test_a_refused_connection_is_told_at_once_with_its_cause"
_NOT_STARTED = "test_nothing_is_started_where_waiting_does_not_help"
_PRIVATE = "tests/system/test_private_files.py"

ENTRY: tuple[Mutant, ...] = (
    python_mutant(
        "the driver quotes a URL that it cannot read",
        "store/connection.py",
        "if parts is None or _is_misread(parts):",
        "if parts is not None and _is_misread(parts):",
        f"{_CONNECTING}::test_nothing_of_a_malformed_url_is_shown",
    ),
    python_mutant(
        "a part of the password is taken for a host or a port",
        "store/connection.py",
        "if parts is None or _is_misread(parts):",
        "if parts is None:",
        f"{_CONNECTING}::test_nothing_of_a_malformed_url_is_shown",
    ),
    python_mutant(
        "a first connection is waited for",
        "store/connection_pool.py",
        "return self.has_connected and error.may_pass and",
        "return error.may_pass and",
        f"{_CONNECTING}::{_AT_ONCE}[nothing listens-by_store]",
    ),
    python_mutant(
        "a wrong password is waited for",
        "store/connection_pool.py",
        "return self.has_connected and error.may_pass and",
        "return self.has_connected and",
        f"{_CONNECTING}::test_a_wrong_password_is_told_at_once_to_whoever_was_connected",
    ),
    python_mutant(
        "nobody waits for a server that restarts",
        "store/connection_pool.py",
        "return self.has_connected and error.may_pass and",
        "return False and",
        f"{_CONNECTING}::test_a_server_that_restarts_is_waited_for_by_whoever_was_connected",
    ),
    python_mutant(
        "a database that is newer is used",
        "store/connection.py",
        "if found > known:",
        "if False:",
        f"{_CONNECTING}::test_a_database_that_is_newer_than_the_program_is_refused",
    ),
    mutant(
        "no role may ask which migration is the newest",
        "grant_verbs",
        "ANY (granted || 'newest_migrations'::text)",
        "ANY (granted)",
        "roles::test_no_function_behind_the_verbs_can_be_called",
    ),
    mutant(
        "a worker starts for a tenant that does not exist",
        "control/register",
        "IF unknown IS NOT NULL THEN",
        "IF false THEN",
        f"{_USAGE}::test_a_worker_for_a_tenant_that_does_not_exist_is_refused",
    ),
    python_mutant(
        "a worker waits where waiting does not help",
        "runtime/keeper/worker_process.py",
        "if not problem.may_pass:",
        "if False:",
        f"{_UNREACHABLE}::{_NOT_STARTED}[worker-wrong password]",
    ),
    python_mutant(
        "a server starts where waiting does not help",
        "cli/serve.py",
        "if not error.may_pass:",
        "if False:",
        f"{_UNREACHABLE}::{_NOT_STARTED}[serve-wrong password]",
    ),
    python_mutant(
        "artifacts of an unknown scheme are taken",
        "runtime/artifact_store.py",
        'if url is None or "://" not in url:',
        "if True:",
        f"{_USAGE}::test_artifacts_that_nobody_can_keep_are_refused",
    ),
    python_mutant(
        "an app that is not there is told with a traceback",
        "runtime/runner/__main__.py",
        "has_run = not isinstance(error, AppNotFound)",
        "has_run = True",
        f"{_USAGE}::test_an_app_that_is_not_there_is_told_without_a_traceback",
    ),
    python_mutant(
        "wrong input ends with the code of any error",
        "errors.py",
        "class InputRefused(TenureError, exit_code=2,",
        "class InputRefused(TenureError, exit_code=1,",
        f"{_USAGE}::test_what_is_typed_wrongly_ends_with_2",
    ),
    python_mutant(
        "the last of two equal options wins",
        "cli/help.py",
        "if once.count(param) > 1:",
        "if False:",
        f"{_USAGE}::test_what_is_typed_wrongly_ends_with_2",
    ),
    python_mutant(
        "bytes that are not UTF-8 are let in",
        "cli/program.py",
        "if storable_text(value) != value:",
        "if False:",
        f"{_USAGE}::test_what_is_typed_wrongly_ends_with_2",
    ),
    python_mutant(
        "a moment at the edge of the calendar is let in",
        "cli/parsing.py",
        "except OverflowError:",
        "except KeyError:",
        f"{_USAGE}::test_what_is_typed_wrongly_ends_with_2",
    ),
    python_mutant(
        "a sentence is as long as what was typed",
        "cli/output.py",
        "return line if len(line) <= MAX_SENTENCE else",
        "return line if True else",
        f"{_ODD}::test_a_sentence_about_what_was_typed_is_short",
    ),
    python_mutant(
        "a queue that nobody has is paused",
        "cli/pause.py",
        "if not is_new:",
        "if False:",
        f"{_USAGE}::test_what_does_not_exist_ends_with_10",
    ),
    python_mutant(
        "a pool that is not there is listed as empty",
        "cli/pool.py",
        "if pool is not None and not pools:",
        "if False:",
        f"{_USAGE}::test_what_does_not_exist_ends_with_10",
    ),
    python_mutant(
        "a tenant that is not there is to be migrated",
        "cli/connection.py",
        "if tenant.name not in known:",
        "if False:",
        f"{_USAGE}::test_what_does_not_exist_ends_with_10",
    ),
    python_mutant(
        "a command that reads makes a database",
        "control/client.py",
        "if not self.may_create:",
        "if False:",
        f"{_USAGE}::test_a_command_that_makes_nothing_makes_no_database[job list]",
    ),
    python_mutant(
        "a line is filled up for a program",
        "cli/output.py",
        "_write(line.rstrip())",
        "_write(line)",
        f"{_USAGE}::test_no_line_is_filled_up_when_a_program_reads_it",
    ),
    python_mutant(
        "a setting that does not exist is a TypeError",
        "config.py",
        "_refuse_unknown(values, cls.names()) return super().__new__(cls)",
        "return super().__new__(cls)",
        f"{_CALLS}::test_a_setting_that_does_not_exist_is_refused_with_the_nearest",
    ),
    python_mutant(
        "the settings show the URL of artifacts",
        "config.py",
        "artifacts: str | None = field(default=None, repr=False)",
        "artifacts: str | None = field(default=None)",
        f"{_CALLS}::test_the_settings_show_no_password",
    ),
    python_mutant(
        "what the driver cannot send is an outage",
        "store/driver_errors.py",
        "isinstance(error, psycopg.DataError | psycopg.ProgrammingError)",
        "isinstance(error, psycopg.DataError)",
        f"{_CALLS}::test_a_call[check_cancellation_requested]",
    ),
    python_mutant(
        "a reason begins a line of the log",
        "observe/logs.py",
        "return visible(super().formatMessage(record))",
        "return super().formatMessage(record)",
        "tests/observe/test_logs.py::test_a_text_line_stays_a_single_line_whatever_it_contains",
    ),
    python_mutant(
        "an error begins a line of the log",
        "observe/logs.py",
        'f"  | {visible(line)}"',
        "line",
        "tests/observe/test_logs.py::test_a_traceback_cannot_be_taken_for_lines_of_the_log",
    ),
    python_mutant(
        "a file is as open as the umask lets it be",
        "store/private_files.py",
        "os.open(name, flags, 0o600)",
        "os.open(name, flags, 0o666)",
        f"{_PRIVATE}::test_nothing_is_open_to_others_under_a_umask_that_forbids_nothing",
    ),
    python_mutant(
        "a folder is as open as the umask lets it be",
        "store/private_files.py",
        "each.mkdir(mode=mode, exist_ok=True)",
        "each.mkdir(exist_ok=True)",
        f"{_PRIVATE}::test_nothing_is_open_to_others_under_a_umask_that_forbids_nothing",
        f"{_PRIVATE}::test_the_token_of_up_on_another_database_is_in_a_private_folder",
    ),
)
