"""Guards of the rollups: each ended job is counted exactly once."""

from tests.mutants.mutant import Mutant, mutant

ROLLUPS: tuple[Mutant, ...] = (
    mutant(
        "an uncommitted job counts as settled",
        "roll_up",
        "IF open >= mine THEN",
        "IF true THEN",
        "rollups::test_a_job_that_commits_late_is_not_lost",
    ),
    mutant(
        "a mark is settled while transactions are still open",
        "roll_up",
        "ELSIF progress.marked_by IS NULL OR open >= progress.marked_by"
        " OR progress.marked_by > mine THEN",
        "ELSE",
        "rollups::test_a_job_that_commits_late_is_not_lost",
    ),
    mutant(
        "a mark is settled only when no transaction at all is open",
        "roll_up",
        "OR open >= progress.marked_by OR",
        "OR",
        "rollups::test_a_mark_is_kept_until_it_is_settled",
    ),
    mutant(
        "a mark of another server is waited for",
        "roll_up",
        "OR progress.marked_by > mine",
        "",
        "rollups::test_a_mark_of_another_server_holds_up_nothing",
    ),
    mutant(
        "a mark is later than the start of its transaction",
        "roll_up",
        "tenure.now() - (clock_timestamp() - transaction_timestamp())",
        "tenure.now() + interval '5 seconds'",
        "rollups::test_a_caller_in_a_transaction_of_its_own_marks_no_later_than_it_began",
    ),
    mutant(
        "two workers count the same jobs",
        "roll_up",
        "SELECT r.* INTO progress FROM tenant.rolled_up AS r FOR UPDATE SKIP LOCKED;",
        "SELECT r.* INTO progress FROM tenant.rolled_up AS r;",
        "rollups::test_two_who_count_at_once_count_each_end_once",
    ),
    mutant(
        "a fleet counts at every sweep",
        "roll_up",
        "progress.checked_at > began - least(every, interval '1 day')",
        "false",
        "rollups::test_a_fleet_looks_once",
    ),
    mutant(
        "old buckets stay",
        "roll_up",
        "DELETE FROM tenant.rollup AS r WHERE r.at < oldest;",
        "",
        "rollups::test_what_is_older_than_a_day_is_forgotten",
    ),
    mutant(
        "a job that failed without a start takes the times of an earlier attempt",
        "ends_between",
        "AND j.started_at >= j.run_at",
        "AND j.started_at IS NOT NULL",
        "rollups::test_a_job_that_failed_while_it_waited_for_its_retry_has_no_times",
    ),
    mutant(
        "jobs are pruned before they are counted",
        "prune",
        "AND j.ended_at < counted",
        "",
        "rollups::test_nothing_is_pruned_before_it_was_counted",
    ).and_also("OR tree.ended_at >= counted", ""),
)
