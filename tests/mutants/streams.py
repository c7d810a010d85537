"""Guards of streams, of values that a resume carries, and of tools for models."""

from tests.mutants.mutant import Mutant, mutant, python_mutant

_STREAMS = "tests/control/test_streams.py"
_WEB = "tests/web/test_job_streams.py"
_MCP = "tests/system/test_mcp.py"

STREAMS: tuple[Mutant, ...] = (
    mutant(
        "a stream begins after output that does not exist yet",
        "stream",
        "IF above > (SELECT s.last_value FROM tenant.output AS s) THEN",
        "IF false THEN",
        f"{_STREAMS}::test_a_position_that_is_not_there_yet_is_refused",
    ),
    mutant(
        "a producer reads the streams of others",
        "stream",
        "WHERE j.id = stream.job AND tenant.can_see_job(stream.job);",
        "WHERE j.id = stream.job;",
        f"{_STREAMS}::test_a_producer_reads_the_streams_of_its_own_jobs",
    ),
    mutant(
        "jobs notify for ever once they had a reader",
        "tenant/helpers/notify/notify_readers",
        "AND r.until > tenure.now()",
        "",
        f"{_STREAMS}::test_reports_notify_only_while_somebody_reads",
    ),
    mutant(
        "one answer has all the large values of a job",
        "stream",
        "WHERE x.size IS NULL OR x.size < 1000000",
        "",
        f"{_STREAMS}::test_large_values_come_a_few_at_a_time",
    ),
    python_mutant(
        "the end of a job overtakes its output",
        "control/job_stream.py",
        "return self.is_complete and position.number >= self.newest",
        "return position.number >= self.newest",
        f"{_STREAMS}::test_the_end_does_not_overtake_output_that_needs_another_answer",
    ),
    python_mutant(
        "a stream ends while there is more output",
        "control/job_stream.py",
        "self.is_over = self.is_complete and answer.state in ENDED",
        "self.is_over = answer.state in ENDED",
        f"{_STREAMS}::test_the_end_does_not_overtake_output_that_needs_another_answer",
    ),
    python_mutant(
        "a page that could not be read is not asked for again",
        "control/job_stream.py",
        "async with asyncio.timeout(RETRY_AFTER):",
        "async with asyncio.timeout(None):",
        f"{_STREAMS}::test_a_page_that_could_not_be_read_is_asked_for_again",
    ),
    python_mutant(
        "the output of a job is kept in memory without a limit",
        "control/job_stream.py",
        "while len(self._kept) > MAX_KEPT:",
        "while False:",
        f"{_STREAMS}::test_a_slow_reader_gets_everything_and_holds_one_page",
    ),
    python_mutant(
        "readers at the same number do not share a page",
        "control/job_stream.py",
        "page = self._pages.get(number)",
        "page = None",
        f"{_STREAMS}::test_all_readers_of_a_job_share_one_query_and_their_pages",
    ),
    python_mutant(
        "what follows a position is found for each reader",
        "control/job_stream.py",
        "self._next[position] = following",
        "pass",
        f"{_WEB}::test_many_readers_get_every_value_once_and_share_the_encoded_bytes",
    ),
    python_mutant(
        "items are encoded for each reader",
        "web/streams.py",
        "if batch.encoded is None:",
        "if True:",
        f"{_WEB}::test_many_readers_get_every_value_once_and_share_the_encoded_bytes",
    ),
    python_mutant(
        "all readers are woken at once",
        "control/polling.py",
        "if number % WOKEN_TOGETHER == 0:",
        "if False:",
        "tests/control/test_polling.py"
        "::test_waking_many_readers_lets_other_work_of_the_loop_run_in_between",
    ),
    python_mutant(
        "an answer between two waits of a reader is lost",
        "control/polling.py",
        "if not self._is_woken:",
        "if True:",
        "tests/control/test_polling.py::test_a_reader_that_was_woken_before_it_waits_goes_on",
    ),
    python_mutant(
        "a stream is polled more often after each notification",
        "control/job_stream.py",
        "is_notified = True",
        "is_notified = False",
        f"{_STREAMS}::test_a_stream_that_is_notified_asks_rarely",
    ),
    python_mutant(
        "an item says that its reader knows no state",
        "control/job_stream.py",
        'return f"{self.number}.{self.status}.{self.progress}"',
        'return f"{self.number}"',
        f"{_STREAMS}::test_a_reader_that_comes_back_misses_nothing_and_gets_nothing_twice",
    ),
    python_mutant(
        "plain code in a coroutine blocks the event loop",
        "control/stream_reading.py",
        "asyncio.get_running_loop()",
        "raise RuntimeError",
        f"{_STREAMS}::test_plain_code_in_a_coroutine_is_told_to_use_async_for",
    ),
    mutant(
        "a value is given again after the checkpoint that keeps it",
        "report",
        "resume_value = CASE WHEN excluded.checkpoint IS NULL THEN o.resume_value END",
        "resume_value = o.resume_value",
        "tests/store/test_resume_values.py::test_a_checkpoint_takes_the_place_of_the_value",
    ),
    mutant(
        "a value answers a second question",
        "tenant/finish/helpers/conclude",
        "resume_value = CASE WHEN excluded.error ->> 'type' IS DISTINCT FROM 'tenure.Pause'"
        " THEN o.resume_value END",
        "resume_value = o.resume_value",
        "tests/store/test_resume_values.py"
        "::test_a_job_that_pauses_itself_again_needs_another_value",
    ),
    mutant(
        "a fresh start keeps the value",
        "tenant/resume/helpers/resume_job",
        "resume_value = CASE WHEN NOT fresh THEN o.resume_value END",
        "resume_value = o.resume_value",
        "tests/store/test_resume_values.py::test_a_fresh_start_forgets_the_value",
    ),
    mutant(
        "a value of any size resumes a job",
        "resume",
        "pg_column_size(value) > {resume_value.max} OR",
        "",
        "tests/store/test_resume_values.py::test_a_value_that_cannot_be_stored_is_refused",
    ),
    mutant(
        "a pause is shown as an error",
        "jobs",
        "SELECT coalesce(o.error ->> 'type' = 'tenure.Pause', false) AS is_pause",
        "SELECT false AS is_pause",
        "tests/store/test_resume_values.py::test_a_job_that_pauses_itself_has_a_reason_and_no_error",
    ),
    python_mutant(
        "a model reads and cancels the jobs of others",
        "contrib/mcp/tools.py",
        "if seen.owner != self.caller.principal.name:",
        "if False:",
        f"{_MCP}::test_jobs_of_others_do_not_exist_for_a_user_and_do_for_an_operator",
    ),
    python_mutant(
        "a cancelled call leaves its job running",
        "contrib/mcp/job_calls.py",
        "await _cancel(call, new.id)",
        "pass",
        f"{_MCP}::test_a_cancelled_call_stops_its_job_and_leaves_nothing_running",
    ),
    python_mutant(
        "an operator's tools are everybody's",
        "contrib/mcp/server.py",
        "(OPERATOR_TOOLS if operator else ())",
        "OPERATOR_TOOLS",
        f"{_MCP}::test_tasks_are_tools_with_the_schema_of_the_catalogue",
    ),
)
