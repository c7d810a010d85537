"""The types and bounds of what callers store, and readers that survive what is stored anyway."""

from tests.mutants.mutant import Mutant, mutant, python_mutant

_EDGES = "tests/bounds/test_edges_of_jobs.py::test_a_door_refuses_what_lies_beyond_a_field"
_TEXTS = (
    "tests/bounds/test_edges_of_control.py"
    "::test_a_text_of_a_verb_is_taken_up_to_its_length_and_refused_beyond"
)
_LENGTHS = (
    "tests/bounds/test_edges_of_control.py"
    "::test_a_length_of_a_verb_is_taken_up_to_a_hundred_years_and_refused_beyond"
)
_PARTS = "tests/bounds/test_edges_of_parts.py"
_TENANT = "tests/bounds/test_edges_of_control.py::test_a_tenant_has_so_many_names_and_no_more"
_READERS = (
    "tests/bounds/test_readers.py::test_every_reader_survives_a_row_that_no_door_would_let_in"
)
_ROWS = "tests/bounds/test_unreadable_rows.py"
_NAMES = "tests/bounds/test_names.py"
_VALUES = "tests/bounds/test_bad_values.py"
_ROLE = f"{_VALUES}::test_a_producers_role_cannot_store_what_no_worker_can_read"

BOUNDS: tuple[Mutant, ...] = (
    mutant(
        "options of any type",
        "control/validation_error",
        "AND tenure.options_error(d.options) IS NOT NULL",
        "AND false",
        _ROLE,
    ),
    mutant(
        "jobs of any types",
        "drafts",
        "problem := tenure.draft_type_error(jobs -> (place - 1));",
        "problem := NULL;",
        _ROLE,
    ),
    mutant(
        "shared fields of any types",
        "drafts",
        "problem := tenure.draft_type_error(shared);",
        "problem := NULL;",
        f"{_PARTS}::test_the_last_job_of_many_is_looked_at_like_the_first",
    ),
    mutant(
        "options of any type are plain",
        "control/validation_error",
        "AND (d.options IS NULL OR tenure.are_plain_options(d.options)) THEN",
        "THEN",
        _ROLE,
    ),
    mutant(
        "fields of any value are plain",
        "control/validation_error",
        "d.budget, d.after) = 0",
        "d.budget, d.after) >= 0",
        f"{_EDGES}[key-sql]",
    ),
    mutant(
        "arguments of any depth are plain",
        "control/validation_error",
        "AND tenure.json_error(d.args) IS NULL",
        "",
        f"{_EDGES}[args-sql]",
    ),
    mutant(
        "names of any length are plain",
        "control/validation_error",
        "AND length(d.task) + length(d.queue) <= {queue.max}",
        "",
        f"{_EDGES}[task-sql]",
    ),
    mutant(
        "a number for a name",
        "control/draft_type_error",
        '@.value.type() != "string" && @.key',
        '@.value.type() == "null" && @.key',
        _ROLE,
    ),
    mutant(
        "a list, a number or a time is not looked at",
        "control/draft_type_error",
        '|| @.key like_regex "^(run_at|delay|priority|max_attempts|tags|pools|limits|block_on)$"',
        "",
        f"{_EDGES}[tags-sql]",
    ),
    mutant(
        "a budget of anything",
        "control/validation_error",
        "AND tenure.is_bad_budget(d.budget)",
        "AND false",
        f"{_PARTS}::test_the_units_and_limits_of_a_budget_are_bounded[sql]",
    ),
    mutant(
        "retries of any kind",
        "control/options_error",
        "WHEN o.key = 'retry' THEN tenure.retry_error(o.value) IS NOT NULL",
        "WHEN o.key = 'retry' THEN false",
        f"{_PARTS}::test_each_part_of_a_retry_is_bounded",
    ),
    mutant(
        "any length counts as plain",
        "control/are_plain_options",
        "'^[1-9][0-9]{0,3}[smh]([1-9][0-9]?[sm])?$'",
        "'[smhd]$'",
        f"{_EDGES}[grace-sql]",
    ),
    mutant(
        "a list of lists is a list of names",
        "control/are_names",
        """AND NOT value @? 'strict $[*] ? (@.type() != "string" || @ == "")'""",
        "",
        f"{_EDGES}[tags-sql]",
    ),
    mutant(
        "a name in a list of any length",
        "control/are_names",
        "OR tenure.all_within(value, longest)",
        "OR true",
        f"{_EDGES}[tags-sql]",
    ),
    mutant(
        "run_at at any time",
        "control/validation_error",
        "AND NOT d.run_at BETWEEN {run_at.earliest} AND {run_at.latest}",
        "AND false",
        f"{_EDGES}[run_at-sql]",
    ),
    mutant(
        "queued for any time",
        "queue",
        "ELSIF NOT queue.run_at BETWEEN {run_at.earliest} AND {run_at.latest} THEN",
        "ELSIF false THEN",
        "tests/bounds/test_edges_of_control.py::test_a_job_is_queued_for_a_time_that_can_be_shown",
    ),
    mutant(
        "values of any depth",
        "control/json_error",
        "WHEN value @? '$.**{{json.deeper}}'",
        "WHEN false",
        f"{_EDGES}[args-sql]",
    ),
    mutant(
        "numbers of any size",
        "control/json_error",
        "WHEN value @? '$.** ? (@ > {json.max} || @ < -{json.max})'",
        "WHEN false",
        f"{_EDGES}[args-sql]",
    ),
    mutant(
        "arguments of many are not looked into",
        "enqueue_many",
        "OR tenure.json_error(a) IS NOT NULL",
        "",
        f"{_PARTS}::test_the_last_job_of_many_is_looked_at_like_the_first",
    ),
    mutant(
        "a reason of any length",
        "write_audit",
        "IF length(reason) > {reason.max} THEN",
        "IF false THEN",
        _TEXTS,
    ),
    mutant(
        "an actor of any length",
        "control/actor",
        "WHEN length(named) > {actor.max}",
        "WHEN false",
        f"{_TEXTS}[actor]",
    ),
    mutant(
        "a stop with any grace",
        "stop_job",
        "ELSIF options.grace > {grace.max} OR options.ask_for > {ask_for.max} THEN",
        "ELSIF false THEN",
        _LENGTHS,
    ),
    mutant(
        "a bulk stop with any grace",
        "check_bulk",
        "WHEN options.grace > {grace.max} OR options.ask_for > {ask_for.max}",
        "WHEN false",
        _LENGTHS,
    ),
    mutant(
        "since any time",
        "control/with_timestamp",
        "WHEN (fields -> name)::numeric NOT BETWEEN 0 AND extract(epoch FROM {deadline.max})",
        "WHEN false",
        "tests/bounds/test_edges_of_control.py::test_how_long_ago_a_filter_reaches_is_bounded",
    ),
    mutant(
        "a filter of any length",
        "filter_error",
        "WHEN length(f.value #>> '{}') > {filter_text.max} THEN true",
        "",
        f"{_TEXTS}[filter]",
    ),
    mutant(
        "a refusal of any length",
        "refused",
        "'verb', left(verb, {verb.max})",
        "'verb', verb",
        "tests/bounds/test_edges_of_control.py::test_what_is_refused_on_record_is_cut_short",
    ),
    mutant(
        "reports of any kind",
        "report",
        "IF tenant.report_error(reports) IS NOT NULL THEN",
        "IF false THEN",
        "tests/bounds/test_edges_of_control.py::test_what_a_running_job_reports_is_bounded",
    ),
    mutant(
        "a host of any name",
        "control/register",
        "IF length(host) NOT BETWEEN 1 AND {host.max} THEN",
        "IF false THEN",
        f"{_TEXTS}[host]",
    ),
    mutant(
        "any number of queues",
        "lane_of",
        "IF (SELECT count(*) FROM tenant.lane) >= max_lanes THEN",
        "IF false THEN",
        f"{_TENANT}[lanes]",
    ),
    mutant(
        "any number of pools",
        "create_pool",
        "ELSIF (SELECT count(*) FROM tenant.pool) >= {pools_in_all.max} THEN",
        "ELSIF false THEN",
        f"{_TENANT}[pools_in_all]",
    ),
    mutant(
        "any number of policies",
        "set_policy",
        "= is_admin) >= {policies.max} THEN",
        "= is_admin) < 0 THEN",
        f"{_TENANT}[policies]",
    ),
    mutant(
        "any number of strategies",
        "set_strategy",
        "IF (SELECT count(*) FROM tenant.strategy AS s WHERE s.name <> set_strategy.name) "
        ">= {strategies.max} THEN",
        "IF false THEN",
        f"{_TENANT}[strategies]",
    ),
    mutant(
        "queues are never forgotten",
        "prune",
        "PERFORM tenant.prune_lanes();",
        "NULL;",
        f"{_NAMES}::test_a_queue_without_jobs_is_forgotten_and_one_with_a_job_is_not",
    ),
    mutant(
        "a queue is forgotten under a job on its way",
        "prune_lanes",
        "LOCK TABLE tenant.lane IN ACCESS EXCLUSIVE MODE;",
        "",
        f"{_NAMES}::test_a_job_on_its_way_into_a_queue_keeps_it",
    ),
    mutant(
        "an old snapshot finds a forgotten queue",
        "lane_of",
        "AND current_setting('transaction_isolation') <> 'read committed' THEN",
        "AND false THEN",
        f"{_NAMES}::test_an_old_snapshot_cannot_bring_a_forgotten_queue_back",
    ),
    mutant(
        "seconds without end",
        "control/seconds_between",
        "WHEN isfinite(since) AND isfinite(until) AND since > until - {delay.max} "
        "AND since < until + {delay.max}",
        "WHEN true",
        f"{_ROWS}::test_a_worker_continues_despite_rows_with_unreadable_times",
    ),
    mutant(
        "secrets of arguments that are no object",
        "jobs",
        "WHEN jsonb_typeof(p.args) <> 'object' THEN '\"***\"'",
        "",
        f"{_READERS}[secret: of arguments that are a text]",
    ),
    python_mutant(
        "one row that cannot be read costs the whole claim",
        "store/claims.py",
        "except (msgspec.DecodeError, RecursionError): return _read_each",
        "except ZeroDivisionError:\n        return _read_each",
        f"{_ROWS}::test_a_row_that_cannot_be_read_does_not_keep_its_neighbours_from_a_claim",
    ),
    python_mutant(
        "a row that cannot be read stays with its worker",
        "runtime/keeper/database/exchange.py",
        "if claim.unreadable:",
        "if False:",
        f"{_ROWS}::test_a_worker_sets_rows_aside_that_it_cannot_read_and_runs_the_others",
    ),
    python_mutant(
        "answers are read strictly",
        "store/answers.py",
        "except (msgspec.DecodeError, RecursionError): return _fitted(text, kind)",
        "except ZeroDivisionError:\n            return _fitted(text, kind)",
        f"{_READERS}[run_at: before Christ]",
    ),
    python_mutant(
        "what is nested too deeply is read",
        "store/answers.py",
        "json.loads(flattened(text),",
        "json.loads(text,",
        f"{_READERS}[error: too deep]",
    ),
    python_mutant(
        "arguments by name are stored as something else",
        "control/by_name.py",
        "refuse_not_json(kwargs)",
        "",
        f"{_VALUES}::test_arguments_by_name_are_refused_and_not_stored_as_null",
    ),
    python_mutant(
        "an id of any number of digits",
        "cli/parsing.py",
        "and len(text) <= len(str(LARGEST_ID))",
        "",
        f"{_VALUES}::test_the_command_line_says_what_is_wrong",
    ),
    python_mutant(
        "the command line takes any number",
        "cli/parsing.py",
        "if (wrong := bounds.json_error(read)) is not None:",
        "wrong = None\n    if wrong is not None:",
        f"{_VALUES}::test_a_number_that_is_typed_is_read_as_it_is_or_refused",
    ),
    python_mutant(
        "the length of a body has any number of digits",
        "web/limits.py",
        "(len(length) > 19 or int(length) > limit)",
        "int(length) > limit",
        f"{_VALUES}::test_a_length_of_a_body_that_cannot_be_is_no_error_of_the_server",
    ),
)
