"""What is kept of an action: without the audit row, each verb does its work unseen."""

from tests.mutants.mutant import Mutant, mutant

# In place of the call: the same call, behind a row that never comes.
_UNSEEN = "PERFORM FROM (SELECT WHERE false) AS never CROSS JOIN LATERAL"


def _unseen(verb: str, *killed_by: str, schema: str = "tenant") -> Mutant:
    call = f"{schema}.write_audit("
    file = f"control/{verb}" if schema == "tenure" else verb
    name = f"{verb} leaves no audit row"
    return mutant(name, file, f"PERFORM {call}", f"{_UNSEEN} {call}", *killed_by)


RECORDS: tuple[Mutant, ...] = (
    _unseen("stop_job", "audit::test_every_action_leaves_exactly_one_row"),
    _unseen("repeat_stop", "audit::test_every_action_leaves_exactly_one_row"),
    _unseen("resume_job", "audit::test_every_action_leaves_exactly_one_row"),
    _unseen("clear", "audit::test_every_action_leaves_exactly_one_row"),
    _unseen("rerun_job", "audit::test_every_action_leaves_exactly_one_row"),
    _unseen("queue", "audit::test_every_action_leaves_exactly_one_row"),
    _unseen("pause_dispatch", "audit::test_every_action_leaves_exactly_one_row"),
    _unseen("resume_dispatch", "audit::test_every_action_leaves_exactly_one_row"),
    _unseen("create_pool", "audit::test_every_action_leaves_exactly_one_row"),
    _unseen("change_slots", "audit::test_every_action_leaves_exactly_one_row"),
    _unseen("release_slot", "audit::test_every_action_leaves_exactly_one_row"),
    _unseen("drain", "audit::test_every_action_leaves_exactly_one_row", schema="tenure"),
    mutant(
        "attempts that did not complete are forgotten",
        "conclude",
        "WHERE (m.state <> 'completed' OR m.attempt > 1) AND NOT",
        "WHERE false AND NOT",
        "audit::test_an_attempt_has_a_row_unless_it_completed_the_first_time",
    ),
    mutant(
        "members that ended stay open",
        "conclude",
        "WHERE b.job_id = ANY (batch.stopped) AND b.became IS NULL",
        "WHERE false",
        "cancellation_record::test_each_member_says_how_it_ended",
    ),
    mutant(
        "the end of a batch reads all open members",
        "conclude",
        "WHERE b.job_id = ANY (batch.stopped) AND b.became IS NULL",
        "WHERE b.job_id = ANY (batch.stopped) AND b.ended_at IS NULL",
        "stop_of_many::test_a_stop_of_eight_times_as_many_jobs_reads_eight_times_as_many_rows",
    ),
)
