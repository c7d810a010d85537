"""Stopping, asking again, going on."""

from tests.mutants.mutant import Mutant, mutant

_ASKED_ALREADY = "current.completed_at IS NULL AND current.job_id = stop.job THEN"
_LOOK_AGAIN = """        reached := reached || added;
    END LOOP;"""
_STOPPED_ABOVE = """    IF holder IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'TN003'"""
_KEY_TAKEN = """    IF holder IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'TN004'"""

STOPS: tuple[Mutant, ...] = (
    mutant(
        "what is over can be stopped",
        "stop",
        "chosen.state IN ('completed', 'failed', 'cancelled') OR ",
        "",
        "stop::test_what_cannot_be_stopped_refuses_and_makes_no_record",
    ),
    mutant(
        "what is paused can be paused",
        "stop",
        " OR (chosen.state = 'paused' AND intent = 'pause')",
        "",
        "stop::test_what_cannot_be_stopped_refuses_and_makes_no_record",
    ),
    mutant(
        "a pause over a cancel",
        "stop",
        "current.intent = 'cancel' AND intent = 'pause' THEN",
        "false THEN",
        "stop::test_a_job_that_is_cancelling_cannot_be_paused",
    ),
    mutant(
        "asking again makes a second record",
        "stop",
        _ASKED_ALREADY,
        "false THEN",
        "stop::test_asking_again_answers_with_the_same_record",
    ),
    mutant(
        "force means nothing the second time",
        "ask_again",
        "harder AND NOT c.force",
        "false",
        "stop::test_force_escalates_a_graceful_stop",
    ),
    mutant(
        "stop reads its job before it is locked",
        "stop",
        "WHERE j.id = stop.job FOR UPDATE;",
        "WHERE j.id = stop.job;",
        "races/cascades::test_two_stops_of_one_job_at_once_are_one_record",
    ).and_also("WHERE j.id = stop.job) FOR UPDATE;", "WHERE j.id = stop.job);"),
    mutant(
        "stop looks once",
        "stop",
        _LOOK_AGAIN,
        _LOOK_AGAIN.replace("    END LOOP", "        EXIT;\n    END LOOP"),
        "races/stops::test_a_child_that_is_committed_during_the_stop_is_found_by_the_next_look",
    ),
    mutant(
        "a pause takes dependents along",
        "stop",
        "\"cascade\" AND intent = 'cancel'",
        '"cascade"',
        "stop::test_a_pause_leaves_dependents_waiting",
    ),
    mutant(
        "every stop cascades",
        "stop",
        "\"cascade\" AND intent = 'cancel'",
        "intent = 'cancel'",
        "stop::test_without_cascade_dependents_wait_and_recovery_leaves_them_alone",
    ),
    mutant(
        "the roots of trees are not locked",
        "lock_tree",
        "ELSE PERFORM FROM tenant.job AS j WHERE j.id = ANY (roots) ORDER BY j.id FOR UPDATE;",
        "",
        "races/lock_orders::test_a_stop_and_a_resume_below_one_root_do_not_deadlock",
    ),
    mutant(
        "stop waits for a tree it should have locked earlier",
        "lock_tree",
        "ORDER BY j.id FOR UPDATE NOWAIT;",
        "ORDER BY j.id FOR UPDATE;",
        "races/cascades::test_cascades_over_trees_that_depend_on_each_other_both_ways_do_not_deadlock",
    ),
    mutant(
        "nobody tells the worker",
        "stop_members",
        "WHERE m.worker_id IS NOT NULL",
        "WHERE false",
        "stop::test_the_signal_arrives_also_when_the_worker_is_full_and_draining",
    ),
    mutant(
        "a parent ends before what runs below it",
        "end_stopped_parents",
        "THEN NOT tenant.runs_below(j.id) END",
        "THEN true END",
        "stop::test_a_job_without_code_is_cancelling_until_nothing_below_it_runs",
    ),
    mutant(
        "a job with code is cancelled while its child runs",
        "conclude",
        "WHEN h.yields AND h.shared THEN 'pending'",
        "",
        "stop::test_a_job_with_code_is_not_cancelled_while_its_child_still_runs",
    ),
    mutant(
        "what waits for its tasks ends at once",
        "ends_at_once",
        "NOT runs_below AND",
        "",
        "stop::test_a_job_without_code_is_cancelling_until_nothing_below_it_runs",
    ),
    mutant(
        "a child in flight is left alone",
        "join_stopped_parents",
        "AND j.state = 'pending' AND j.stop_id IS NULL",
        "AND false",
        "races/stops::test_a_child_in_flight_at_the_stop_never_becomes_ready",
    ),
    mutant(
        "a record is closed before its members",
        "close_if_complete",
        "WHERE m.stop_id = stop AND m.ended_at IS NULL)\n",
        "WHERE false)\n",
        "cancellation_record::test_a_record_moves_through_its_statuses",
    ),
    mutant(
        "a record is closed twice",
        "close_record",
        " AND c.completed_at IS NULL FOR NO KEY UPDATE",
        " FOR NO KEY UPDATE",
        "cancellation_record::test_a_closed_record_stays_closed",
    ),
    mutant(
        "completed is said of a record with an open member",
        "close_record",
        "close_record.status = 'completed' AND EXISTS",
        "false AND EXISTS",
        "cancellation_record::test_a_record_is_not_completed_while_a_member_is_open",
    ),
    mutant(
        "a step of a closed record moves",
        "step",
        " AND c.completed_at IS NULL FOR NO KEY UPDATE",
        " FOR NO KEY UPDATE",
        "cancellation_record::test_a_closed_record_stays_closed",
    ),
    mutant(
        "anything can be resumed",
        "resume",
        "OR chosen.state NOT IN ('paused', 'failed')",
        "",
        "resume::test_every_other_state_refuses",
    ),
    mutant(
        "what is being cancelled can be resumed",
        "resume",
        "OR EXISTS (SELECT FROM tenant.cancellation AS c"
        " WHERE c.id = chosen.stop_id AND c.intent = 'cancel')",
        "",
        "below::test_a_paused_job_is_cancelling_while_something_below_it_runs",
    ),
    mutant(
        "a job is cleared above what lives",
        "clear",
        "IF EXISTS (SELECT FROM unnest(ids) AS i WHERE tenant.lives_below(i)) THEN",
        "IF false THEN",
        "below::test_a_failed_job_is_not_cleared_while_something_below_it_lives",
    ),
    mutant(
        "resume does not wait for another resume",
        "resume",
        "PERFORM tenant.lock_tree(ARRAY[resume.job]);",
        "",
        "races/resumes::test_the_second_of_two_resumes_is_refused",
    ),
    mutant(
        "resume below a stopped job",
        "resume",
        _STOPPED_ABOVE,
        _STOPPED_ABOVE.replace("holder IS NOT NULL", "false"),
        "resume::test_a_task_below_a_paused_job_cannot_go_on_alone",
    ),
    mutant(
        "resume over a taken key",
        "resume",
        _KEY_TAKEN,
        _KEY_TAKEN.replace("holder IS NOT NULL", "false"),
        "resume::test_a_unique_key_taken_in_the_meantime_is_not_held_twice",
    ),
    mutant(
        "resumed without fresh retries",
        "resume",
        "attempt = 0, crashes = 0,",
        "",
        "resume::test_error_crashes_and_attempts_are_forgotten",
    ),
    mutant(
        "what is not failed can be cleared",
        "clear",
        "WHERE j.id = ANY (ids) AND j.state = 'failed');\n    IF clear.job",
        "WHERE j.id = ANY (ids));\n    IF clear.job",
        "clear::test_every_other_state_refuses",
    ),
)
