"""The catalogue of tasks: defaults, jobs of unknown tasks, and who may announce."""

from tests.mutants.mutant import Mutant, mutant, python_mutant

_TASKS = "catalogue"
_LOOKED_UP = (
    "tests/web/test_jobs.py::test_whoever_may_not_enqueue_is_refused_before_a_task_is_looked_up"
)

TASKS: tuple[Mutant, ...] = (
    mutant(
        "a job from SQL gets no defaults",
        "declared_jobs",
        "ELSE tenure.apply_declaration(job, known) END;",
        "ELSE job END;",
        f"{_TASKS}::test_sql_uses_the_declared_options_and_arguments_override_them",
    ),
    mutant(
        "options of the task override options of the call",
        "control/apply_declaration",
        "coalesce(task.defaults -> 'options', '{}') || given;",
        "given || coalesce(task.defaults -> 'options', '{}');",
        f"{_TASKS}::test_sql_uses_the_declared_options_and_arguments_override_them",
    ),
    mutant(
        "a job of an unknown task does not wait for it",
        "insert_job",
        "WHEN d.given IS NOT NULL THEN 'task'",
        "",
        f"{_TASKS}::test_a_job_waits_for_its_task_and_then_gets_what_it_declares",
    ),
    mutant(
        "a resumed job does not wait for its task again",
        "resume_job",
        "WHEN EXISTS (SELECT FROM tenant.unannounced AS u WHERE u.job_id = o.id) THEN 'task'",
        "",
        f"{_TASKS}::test_a_paused_job_waits_for_its_task_again_when_it_is_resumed",
    ),
    mutant(
        "a worker announces for another user's worker",
        "control/announce",
        "AND w.dead_at IS NULL AND tenure.may_act_for_worker(w.registered_by);",
        "AND w.dead_at IS NULL;",
        f"{_TASKS}::test_somebody_elses_worker_cannot_be_spoken_for",
    ),
    mutant(
        "a worker of one tenant announces for all",
        "control/announce",
        "coalesce(caller.tenants, ARRAY[''])",
        "ARRAY['']",
        f"{_TASKS}::test_a_worker_of_one_tenant_announces_for_that_one_alone",
    ),
    mutant(
        "a tenant's admin announces for all tenants",
        "announce_tasks",
        "IF refusal IS NULL AND everywhere AND '{tenant}' <> 'default' THEN",
        "IF false THEN",
        f"{_TASKS}::test_what_one_tenant_announces_changes_nothing_for_another",
    ),
    mutant(
        "a rerun keeps the deadline of the old job",
        "rerun_job",
        "tenant.fresh_options(p.options, j.created_at)",
        "p.options",
        f"{_TASKS}::test_a_rerun_counts_its_deadline_from_its_own_enqueue",
    ),
    python_mutant(
        "tasks are looked up for callers who may not enqueue",
        "web/api/jobs.py",
        'await caller.arequire("enqueue")',
        "pass",
        _LOOKED_UP,
    ),
)
