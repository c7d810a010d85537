"""A database of many jobs that are over, as it looks after a month of work."""

import psycopg

QUEUES = 20
OWNERS = 100
TARGETS = 10_000
RARE = 50_000  # one job in so many is of the rare queue, owner, target and word

# Written past the verbs: a million jobs by hand would take longer than all that is measured.
_LANES = b"""
    INSERT INTO tenure.lane (queue, task)
    SELECT 'queue-' || n, 'shop.task_' || n FROM generate_series(0, %(queues)s - 1) AS n
    UNION ALL SELECT 'rare', 'shop.rare'
"""
_JOBS = b"""
    INSERT INTO tenure.job (id, root_id, created_at, started_at, ended_at, lane, state, attempt,
        max_attempts, target)
    OVERRIDING SYSTEM VALUE
    SELECT n, n, at, at, at + interval '3 s',
        lane.ids[CASE WHEN is_rare THEN %(queues)s + 1 ELSE 1 + n %% %(queues)s END],
        CASE n %% 100 WHEN 3 THEN 'failed' WHEN 4 THEN 'cancelled' ELSE 'completed'
            END::tenure.state,
        1, 3,
        CASE WHEN is_rare THEN 'site:rare' WHEN n %% 3 = 0 THEN 'site:' || n / 3 %% %(targets)s END
    FROM generate_series(1, %(jobs)s) AS n
    CROSS JOIN (SELECT array_agg(l.id ORDER BY l.id) AS ids FROM tenure.lane AS l) AS lane
    CROSS JOIN LATERAL (
        SELECT tenure.now() - interval '30 days' * (1 - n / %(jobs)s::float8) AS at,
            n %% %(rare)s = 7 AS is_rare) AS one
"""
_PAYLOADS = b"""
    INSERT INTO tenure.payload (job_id, args, owner, tags)
    SELECT n,
        jsonb_build_object('site', 'https://example.org/' || n, 'pages', 10,
            'word', CASE WHEN is_rare THEN 'needle' ELSE 'hay' END),
        CASE WHEN is_rare THEN 'rare' ELSE 'owner-' || n %% %(owners)s END,
        CASE WHEN is_rare THEN ARRAY['rare'] WHEN n %% 10 = 0 THEN ARRAY['eu', 'paid'] END
    FROM generate_series(1, %(jobs)s) AS n
    CROSS JOIN LATERAL (SELECT n %% %(rare)s = 7 AS is_rare) AS one
"""
_GO_ON = b"SELECT setval(pg_get_serial_sequence('tenure.job', 'id'), %(jobs)s)"


def fill(connection: psycopg.Connection, jobs: int) -> None:
    """Into a database that has no jobs."""
    sizes = {"jobs": jobs, "queues": QUEUES, "owners": OWNERS, "targets": TARGETS, "rare": RARE}
    for statement in (_LANES, _JOBS, _PAYLOADS, _GO_ON):
        connection.execute(statement, sizes)
    connection.execute("VACUUM (ANALYZE)")
