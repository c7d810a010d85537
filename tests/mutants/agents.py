"""Guards of the agents of Pydantic AI, and of questions that an MCP client answers."""

from tests.mutants.mutant import Mutant, python_mutant

_AGENTS = "tests/contrib/test_pydantic_ai.py"
_MCP = "tests/system/test_mcp.py"
_CODE = "contrib/pydantic_ai"

AGENTS: tuple[Mutant, ...] = (
    python_mutant(
        "instructions are compared when a job runs again",
        f"{_CODE}/identity.py",
        'for part in message["parts"]',
        'for part in [*message["parts"], {"part_kind": "", "": message.get("instructions")}]',
        f"{_AGENTS}::test_a_killed_run_repeats_no_step_that_was_kept[3]",
    ),
    python_mutant(
        "the times of messages are compared when a job runs again",
        f"{_CODE}/identity.py",
        'kept = (key for key in value if key != "timestamp")',
        "kept = iter(value)",
        f"{_AGENTS}::test_a_killed_run_repeats_no_step_that_was_kept[3]",
    ),
    python_mutant(
        "two runs of an agent share the names of their steps",
        f"{_CODE}/backend.py",
        'name = agent if number == 1 else f"{agent}({number})"',
        "name = agent",
        f"{_AGENTS}::test_agents_in_parallel_and_below_each_other_keep_their_steps_apart",
    ),
    python_mutant(
        "a request is made before it is reserved",
        f"{_CODE}/backend.py",
        "if self._reserve is None:",
        "if True:",
        f"{_AGENTS}::test_a_request_that_the_budget_does_not_allow_is_not_made",
    ),
    python_mutant(
        "what a reservation spent is not counted for its step",
        "runtime/grants.py",
        "count_spending(spent)",
        "pass",
        f"{_AGENTS}::test_what_a_run_costs_is_spent_by_its_steps_in_every_executor[research]",
    ),
    python_mutant(
        "a call that nobody allows is made",
        f"{_CODE}/questions.py",
        "if verdict.ok:",
        "if True:",
        f"{_AGENTS}::test_a_call_that_nobody_allows_is_denied_and_not_made",
    ),
    python_mutant(
        "an MCP client answers questions of the jobs of others",
        "contrib/mcp/tools.py",
        "await call.own_job(given.job) return await call.caller.aperform(answer(",
        "return await call.caller.aperform(answer(",
        f"{_MCP}::test_jobs_of_others_do_not_exist_for_a_user_and_do_for_an_operator",
    ),
    python_mutant(
        "a question at an MCP client stays there when somebody else has answered it",
        "contrib/mcp/job_calls.py",
        "asking.cancel()",
        "pass",
        f"{_MCP}::test_a_question_goes_to_the_person_at_the_client[elsewhere]",
    ),
    python_mutant(
        "an MCP client that cannot ask ends the call of the task",
        "contrib/mcp/job_calls.py",
        "except MCPError as error:",
        "except LookupError as error:",
        f"{_MCP}::test_a_question_goes_to_the_person_at_the_client[error]",
    ),
)
