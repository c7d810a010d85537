"""Rows that every entry point refuses, written by the owner of the schema, to test the readers."""

from collections.abc import Mapping

import psycopg

DEEP = "[" * 3000 + "]" * 3000
HUGE = "1" * 5000  # Python reads no more than 4,300 digits

# Values in tenure.payload, tenure.job or tenure.outcome that a worker cannot run with.
UNREADABLE: Mapping[str, str] = {
    "options: a text": """UPDATE tenure.payload SET options = '"x"' WHERE job_id = %(job)s""",
    "options: a list": "UPDATE tenure.payload SET options = '[1]' WHERE job_id = %(job)s",
    "options: a number": "UPDATE tenure.payload SET options = '5' WHERE job_id = %(job)s",
    "options: a huge number": f"UPDATE tenure.payload SET options = '{{\"x\": {HUGE}}}' "
    "WHERE job_id = %(job)s",
    "options: too deep": f"UPDATE tenure.payload SET options = '{{\"x\": {DEEP}}}' "
    "WHERE job_id = %(job)s",
    **{
        f"option {name}: {value}": "UPDATE tenure.payload SET options = jsonb_build_object("
        f"'{name}', '{value}'::jsonb) WHERE job_id = %(job)s"
        for name, value in (
            ("timeout", '"soon"'),
            ("timeout", "[]"),
            ("deadline", '"-infinity"'),
            ("deadline", "5"),
            ("grace", "true"),
            ("grace", '"1e99d"'),
            ("ask_for", "{}"),
            ("close_timeout", "-1"),
            ("last_rung", '"gone"'),
            ("last_rung", "7"),
            ("memory", '"lots"'),
            ("on_budget", "5"),
            ("preserve_artifacts", '"yes"'),
            ("retry", '"often"'),
            ("retry", '{"max": "x"}'),
            ("retry", '{"base": -1}'),
        )
    },
    "budget: a text": """UPDATE tenure.payload SET budget = '"x"' WHERE job_id = %(job)s""",
    "budget: of texts": """UPDATE tenure.payload SET budget = '{"a": "x"}'
        WHERE job_id = %(job)s""",
    "budget: a huge number": """UPDATE tenure.payload SET budget = '{"a": 1e400}'
        WHERE job_id = %(job)s""",
    "arguments: a text": """UPDATE tenure.payload SET args = '"x"' WHERE job_id = %(job)s""",
    "arguments: null": "UPDATE tenure.payload SET args = 'null' WHERE job_id = %(job)s",
    "arguments: a huge number": f"""UPDATE tenure.payload SET args = '{{"value": {HUGE}}}'
        WHERE job_id = %(job)s""",
    "arguments: too deep": f"""UPDATE tenure.payload SET args = '{{"value": {DEEP}}}'
        WHERE job_id = %(job)s""",
    "checkpoint: too deep": f"""INSERT INTO tenure.outcome (job_id, checkpoint, noted_at)
        VALUES (%(job)s, '{DEEP}', now())""",
}

# Values that do not affect a worker but might break a reader.
ODD: Mapping[str, str] = {
    "run_at: before Christ": "UPDATE tenure.job SET run_at = '0044-03-15 BC' WHERE id = %(job)s",
    "run_at: -infinity": "UPDATE tenure.job SET run_at = '-infinity' WHERE id = %(job)s",
    "run_at: infinity": "UPDATE tenure.job SET run_at = 'infinity' WHERE id = %(job)s",
    "run_at: year 20000": "UPDATE tenure.job SET run_at = '20000-01-01' WHERE id = %(job)s",
    "run_at: infinity, waiting": "UPDATE tenure.job SET run_at = 'infinity', ready = false, "
    "waiting = 'time' WHERE id = %(job)s",
    "created_at: -infinity": "UPDATE tenure.job SET created_at = '-infinity' WHERE id = %(job)s",
    "tags: with null": "UPDATE tenure.payload SET tags = '{a,NULL}' WHERE job_id = %(job)s",
    "tags: of two dimensions": "UPDATE tenure.payload SET tags = '{{a},{b}}' "
    "WHERE job_id = %(job)s",
    "spent: NaN": """INSERT INTO tenure.spent
        VALUES (%(job)s, 'a', gen_random_uuid(), 'NaN', now(), 1, ARRAY[now()], '{NaN}')""",
    "spent: infinity": """INSERT INTO tenure.spent
        VALUES (%(job)s, 'a', gen_random_uuid(), 'Infinity', now(), 1, '{infinity}', '{inf}')""",
    "error: too deep": f"""INSERT INTO tenure.outcome (job_id, error, noted_at)
        VALUES (%(job)s, '{{"message": {DEEP}}}', now())""",
    "progress: a huge number": """INSERT INTO tenure.outcome (job_id, progress, noted_at)
        VALUES (%(job)s, '{"done": 1e400}', now())""",
    "result: a huge number": f"""INSERT INTO tenure.outcome (job_id, result, noted_at)
        VALUES (%(job)s, '{HUGE}', now())""",
    "secret: of arguments that are a text": """UPDATE tenure.payload
        SET args = '"x"', options = '{"secret": ["x"]}' WHERE job_id = %(job)s""",
    "a stop with a grace of 999999999 days": """INSERT INTO tenure.cancellation (job_id, root_id,
        intent, reason, initiated_by, initiated_at, force, "cascade", grace, ask_for, last_rung)
        VALUES (%(job)s, %(job)s, 'cancel', 'r', 'x', now(), false, true, '999999999 days',
        '999999999 days', 'killed')""",
    "a stop that began before Christ": """INSERT INTO tenure.cancellation (job_id, root_id, intent,
        reason, initiated_by, initiated_at, force, "cascade", last_rung, status, completed_at)
        VALUES (%(job)s, %(job)s, 'cancel', 'r', 'x', '-infinity', false, true, 'killed',
        'completed', 'infinity')""",
    "a policy of the far future": """INSERT INTO tenure.policy (name, spec, enabled, created_at,
        created_by) VALUES ('p', '{"when": {"at": "infinity"}, "x": 1e400}', true, 'infinity', 'x')
        """,
    "an audit row without end": f"""INSERT INTO tenure.audit (at, actor, via, verb, subject, name,
        after) VALUES ('infinity', 'x', 'sql', 'v', 'job', '1', '{DEEP}')""",
    "a log line of no time": "INSERT INTO tenure.log (job_id, at, level, line) "
    "VALUES (%(job)s, '-infinity', 'info', 'x')",
    "an artifact of no time": "INSERT INTO tenure.artifact "
    "VALUES (%(job)s, 'a', 'file:///a', -1, 'infinity')",
    "a worker of no time": """INSERT INTO tenure.worker (id, host, pid, lease, started_at, beat_at,
        expires_at) VALUES (gen_random_uuid(), 'h', 1, '999999999 days', '-infinity', '-infinity',
        'infinity')""",
}


def write(sql: psycopg.Connection, statement: str, job: int) -> None:
    """Apply the statement to a job."""
    sql.execute(statement.replace("%(job)s", str(job)).encode())
