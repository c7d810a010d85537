"""What is let in, and who says so."""

from tests.mutants.mutant import Mutant, mutant, python_mutant

_ORDER_OF_KEYS = """THEN coalesce(j.value ->> 'unique', j.value ->> 'idempotency') END AS key"""

ENTRANCE: tuple[Mutant, ...] = (
    mutant(
        "a job is refused that was taken before",
        "insert_job",
        "IF stored_idempotency IS NOT NULL THEN",
        "IF false THEN",
        "below::test_a_child_said_again_after_its_parents_end_is_answered",
    ),
    mutant(
        "a job is replaced while its task runs",
        "insert_job",
        "AND NOT tenant.runs_below(holder.id)",
        "",
        "below::test_a_job_is_not_replaced_while_something_below_it_runs",
    ),
    mutant(
        "a child of a stopped parent",
        "parent_of",
        "IF parent_job.stop_id IS NOT NULL OR parent_job.state NOT IN",
        "IF parent_job.state NOT IN",
        "stop::test_nothing_is_enqueued_below_a_stopped_parent",
    ),
    mutant(
        "a child of a parent that is over",
        "parent_of",
        "OR parent_job.state NOT IN ('pending', 'running') THEN",
        "THEN",
        "bad_input::test_nothing_is_added_below_a_job_that_is_over_or_stopped",
    ),
    mutant(
        "after something that is not there",
        "insert_edges",
        "WHERE j.id = needed)",
        "WHERE true)",
        "bad_input::test_an_unknown_job_is_not_found",
    ),
    mutant(
        "after what it is a part of",
        "insert_edges",
        "ELSIF needed = ANY (above) THEN",
        "ELSIF false THEN",
        "bad_input::test_a_job_cannot_come_after_what_it_is_a_part_of",
    ),
    mutant(
        "a cycle through a parent",
        "enqueue",
        "PERFORM tenant.refuse_cycles(ids);",
        "",
        "bad_input::test_a_cycle_over_two_calls_is_refused",
    ),
    mutant(
        "keys are taken in any order",
        "enqueue",
        _ORDER_OF_KEYS,
        "THEN NULL::text END AS key",
        "races/keys::test_keys_taken_in_opposite_orders_do_not_deadlock",
    ),
    mutant(
        "refuse returns",
        "insert_job",
        "IF d.when_taken = 'refuse' THEN",
        "IF false THEN",
        "races/keys::test_a_refused_key_is_refused_after_the_wait",
    ),
    mutant(
        "a started job is replaced",
        "insert_job",
        " AND holder.state = 'pending' AND holder.attempt = 0",
        "",
        "keys::test_a_job_that_runs_is_not_replaced_and_the_answer_says_so",
    ),
    mutant(
        "arguments of any size",
        "control/validation_error",
        "pg_column_size(d.args) > {args.max}",
        "false",
        "guards::test_arguments_that_are_too_large_are_refused_also_from_plain_sql",
    ),
    mutant(
        "arguments of any kind",
        "control/validation_error",
        "d.args IS NULL OR jsonb_typeof(d.args) <> 'object'",
        "d.args IS NULL",
        "guards::test_arguments_that_are_no_object_are_refused_also_from_plain_sql",
    ),
    mutant(
        "what is queued is queued again",
        "queue",
        "AND j.waiting::text = 'unqueued'",
        "AND j.state = 'pending'",
        "guards::test_what_is_queued_is_not_queued_again",
    ),
    mutant(
        "anybody may name an actor",
        "control/access_is_delegated",
        "AND pg_has_role(session_user, r.oid, 'MEMBER')",
        "",
        "roles::test_only_a_delegate_may_name_the_actor",
    ),
    mutant(
        "anybody may name an owner",
        "insert_job",
        "THEN tenure.actor(d.owner)",
        "THEN d.owner",
        "roles::test_an_owner_of_a_job_is_named_by_a_delegate_only",
    ),
    python_mutant(
        "everybody may call every function",
        "store/schema.py",
        'REVOKE ALL ON ALL FUNCTIONS IN SCHEMA "{schema}" FROM PUBLIC;',
        "",
        "catalog::test_no_function_is_executable_by_everybody",
    ),
    mutant(
        "a producer may stop",
        "grant_verbs",
        "WHEN 'producer' THEN ARRAY['enqueue', ",
        "WHEN 'producer' THEN ARRAY['stop', 'enqueue', ",
        "roles::test_each_kind_can_do_its_verbs_and_no_other",
    ),
)
