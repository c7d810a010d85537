"""Who may start which job."""

from tests.mutants.mutant import Mutant, mutant

_LOCK_OF_ONE_LANE = """ORDER BY r.position LIMIT wanted FOR UPDATE SKIP LOCKED))"""
_LOCK_OF_MANY_LANES = """LIMIT wanted - cardinality(started) FOR UPDATE SKIP LOCKED))"""
_READY_IN_ONE_LANE = """WHERE coalesce(j.ready, false) AND j.ctid = ANY (ARRAY(
                SELECT r.ctid FROM tenant.job AS r
                WHERE r.ready AND r.lane"""
_ACCEPTED = """WHERE EXISTS (SELECT FROM unnest(accepted, tokens) AS a(job, token)
    WHERE a.job = (r.value ->> 'job')::bigint AND"""

CLAIMS: tuple[Mutant, ...] = (
    mutant(
        "a paused pool gives slots",
        "ready_lanes",
        "AND NOT EXISTS (SELECT FROM tenant.pause AS p"
        " WHERE p.subject = 'pool' AND p.name = ANY (l.pools))",
        "",
        "pools::test_a_paused_pool_gives_no_slot_until_it_is_resumed",
    ),
    mutant(
        "the dead may ask",
        "claim_batch",
        "AND w.dead_at IS NULL AND tenure.may_act_for_worker(w.registered_by) FOR KEY SHARE",
        "AND tenure.may_act_for_worker(w.registered_by) FOR KEY SHARE",
        "guards::test_a_dead_worker_that_asks_for_jobs_hears_that_it_is_dead",
    ),
    mutant(
        "large claims do not wait for their turn",
        "exchange",
        "IF want.in_turn THEN",
        "IF false THEN",
        "races/exchanges::test_a_large_claim_waits_for_another_and_a_small_one_does_not",
    ),
    mutant(
        "a turn that does not come fails the exchange",
        "await_turn",
        "EXCEPTION WHEN lock_not_available OR deadlock_detected THEN NULL;",
        "",
        "races/exchanges::test_a_large_claim_does_without_a_turn_that_does_not_come",
    ),
    mutant(
        "claim beyond the lease",
        "claim_batch",
        "caller.expires_at > now_ts AND ",
        "",
        "claim::test_a_worker_that_is_dead_or_beyond_its_lease_claims_nothing",
    ),
    mutant(
        "a draining worker claims",
        "claim_batch",
        " AND caller.draining_at IS NULL",
        "",
        "claim::test_a_draining_a_departed_and_an_unknown_worker_claim_nothing",
    ),
    mutant(
        "a worker may be declared dead while it claims",
        "claim_batch",
        " FOR KEY SHARE SKIP LOCKED",
        "",
        "races/claims::test_a_worker_in_the_middle_of_a_claim_is_not_declared_dead",
    ),
    mutant(
        "claim in a paused tenant",
        "ready_lanes",
        "WHERE p.subject = 'tenant')",
        "WHERE false)",
        "claim::test_nothing_is_claimed_from_what_is_paused",
    ),
    mutant(
        "claim from a paused queue",
        "ready_lanes",
        "WHERE p.subject = 'queue' AND p.name = l.queue",
        "WHERE false",
        "claim::test_nothing_is_claimed_from_what_is_paused",
    ),
    mutant(
        "claim from any queue",
        "ready_lanes",
        "AND (ready_lanes.queues IS NULL OR l.queue = ANY (ready_lanes.queues))",
        "",
        "claim::test_a_worker_gets_only_what_it_asks_for",
    ),
    mutant(
        "claim any task",
        "ready_lanes",
        "AND (ready_lanes.tasks IS NULL OR l.task = ANY (ready_lanes.tasks))",
        "",
        "claim::test_a_worker_gets_only_what_it_asks_for",
    ),
    mutant(
        "low priority first",
        "ready_lanes",
        "ORDER BY l.priority DESC, l.head",
        "ORDER BY l.priority, l.head",
        "claim::test_the_highest_priority_goes_first_and_then_whose_turn_it_is",
    ),
    mutant(
        "a lane is read beyond where another comes first",
        "ready_lanes",
        "WHERE l.lines > 1",
        "WHERE false",
        "claim_order::test_jobs_start_by_position_whatever_they_draw_from",
    ),
    mutant(
        "a lower priority starts before the rest of a higher one",
        "claim_batch",
        "EXIT WHEN lower;",
        "",
        "claim_order::test_jobs_behind_those_without_room_keep_their_turn",
    ),
    mutant(
        "the rest of a priority is left",
        "claim_batch",
        "IF more THEN",
        "IF false THEN",
        "claim_order::test_jobs_behind_those_without_room_keep_their_turn",
    ),
    mutant(
        "a lane is left when its first jobs have no room",
        "claim_batch",
        "(started = '{}' AND aside = before)",
        "started = '{}'",
        "claim_order::test_jobs_behind_those_without_room_keep_their_turn",
    ),
    mutant(
        "a claim of mixed lanes stops at what others have locked",
        "claim_batch",
        "EXIT WHEN wanted = 0 OR NOT (more OR lower);",
        "EXIT WHEN wanted IN (0, open) OR NOT (more OR lower);",
        "claim_order::test_a_claim_of_mixed_lanes_looks_behind_what_another_has_locked",
    ),
    mutant(
        "claim waits for a locked job",
        "start_jobs",
        _LOCK_OF_ONE_LANE,
        "ORDER BY r.position LIMIT wanted))",
        "races/claims::test_two_claims_at_once_never_take_the_same_job",
    ),
    mutant(
        "two workers for one job",
        "start_jobs",
        _LOCK_OF_ONE_LANE,
        "ORDER BY r.position LIMIT wanted))",
        "races/claims::test_two_claims_at_once_never_take_the_same_job",
    ).and_also(
        _READY_IN_ONE_LANE,
        _READY_IN_ONE_LANE.replace("coalesce(j.ready, false) AND ", ""),
    ),
    mutant(
        "claim over several lanes waits for a locked job",
        "start_jobs",
        _LOCK_OF_MANY_LANES,
        "LIMIT wanted - cardinality(started)))",
        "races/claims::test_claims_of_many_lanes_pass_over_what_another_has_locked",
    ),
    mutant(
        "claim looks no further than what others have locked",
        "start_jobs",
        "EXIT WHEN cardinality(started) >= wanted OR cardinality(around) < scope;",
        "EXIT;",
        "guards::test_a_claim_looks_behind_what_another_has_locked",
    ),
    mutant(
        "a slot for two jobs",
        "start_with_slots",
        "s.pool = pool_name AND s.job_id IS NULL",
        "s.pool = pool_name",
        "guards::test_a_held_slot_is_given_to_no_second_job",
    ),
    mutant(
        "more jobs than slots",
        "start_with_slots",
        "wanted := least(wanted, cardinality(free));",
        "",
        "pools::test_no_more_jobs_run_than_there_are_slots_and_others_pass",
    ),
    mutant(
        "a slot is never given back",
        "release_holds",
        "WHERE s.job_id = ANY (done);",
        "WHERE false;",
        "pools::test_a_slot_is_free_however_the_attempt_ends",
    ),
    mutant(
        "slots for whom the fence refused",
        "report",
        _ACCEPTED,
        _ACCEPTED.replace("WHERE EXISTS", "WHERE true OR EXISTS"),
        "report::test_who_has_lost_the_job_neither_takes_nor_gives_a_slot",
    ),
    mutant(
        "the slot of a running job is released",
        "release_slot",
        "j.id = was.job_id AND j.state::text = 'running'",
        "false",
        "pools::test_a_slot_in_use_is_neither_removed_nor_released",
    ),
    mutant(
        "a held slot is removed",
        "change_slots",
        "IF holder IS NOT NULL THEN",
        "IF false THEN",
        "pools::test_a_slot_in_use_is_neither_removed_nor_released",
    ),
    mutant(
        "the last want alone decides who is idle",
        "exchange",
        "open := open OR taken.got < want.n;",
        "open := taken.got < want.n;",
        "exchange::test_idle_is_who_got_less_than_it_asked_for",
    ),
    mutant(
        "a draining worker wants notices",
        "control/set_idle",
        " AND (o.draining_at IS NULL OR NOT wants_jobs)",
        "",
        "exchange::test_a_draining_worker_gets_nothing_and_wants_no_notice",
    ),
    mutant(
        "workers shows what a tenant keeps to itself",
        "control/workers",
        "WHERE has_function_privilege(session_user, format('%I.show(bigint)', t.schema),"
        " 'EXECUTE')",
        "WHERE true",
        "workers::test_jobs_of_every_tenant_are_shown_to_who_may_see_them",
    ),
)
