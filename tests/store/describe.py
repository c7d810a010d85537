"""A schema as text: the same for the same schema, whatever version of PostgreSQL holds it."""

import psycopg

TYPES = """
SELECT format('type %%s: %%s', t.typname, CASE t.typtype
    WHEN 'e' THEN (SELECT string_agg(e.enumlabel, ', ' ORDER BY e.enumsortorder)
                   FROM pg_enum AS e WHERE e.enumtypid = t.oid)
    ELSE (SELECT string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod), ', '
              ORDER BY a.attnum)
          FROM pg_attribute AS a WHERE a.attrelid = t.typrelid AND a.attnum > 0) END)
FROM pg_type AS t LEFT JOIN pg_class AS c ON c.oid = t.typrelid
WHERE t.typnamespace = %(schema)s::regnamespace AND (t.typtype IN ('e', 'd') OR c.relkind = 'c')
"""

RELATIONS = """
SELECT format('%%s %%s: %%s',
    CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' ELSE 'sequence' END,
    c.relname, array_to_string(c.reloptions, ', '))
FROM pg_class AS c
WHERE c.relnamespace = %(schema)s::regnamespace AND c.relkind IN ('r', 'v', 'S')
"""

COLUMNS = """
SELECT format('%%s %%s.%%s %%s%%s%%s%%s', CASE c.relkind WHEN 'r' THEN 'table' ELSE 'view' END,
    c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
    CASE WHEN a.attnotnull THEN ' not null' END,
    CASE WHEN a.attidentity <> '' THEN ' identity' END,
    ' default ' || pg_get_expr(d.adbin, d.adrelid))
FROM pg_class AS c
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_attrdef AS d ON d.adrelid = c.oid AND d.adnum = a.attnum
WHERE c.relnamespace = %(schema)s::regnamespace AND c.relkind IN ('r', 'v')
"""

# Since PostgreSQL 18 "not null" is a constraint with a name; here it stays a word on its column.
CONSTRAINTS = """
SELECT format('constraint on %%s, %%s: %%s',
    c.conrelid::regclass, c.conname, pg_get_constraintdef(c.oid))
FROM pg_constraint AS c
WHERE c.connamespace = %(schema)s::regnamespace AND c.conrelid <> 0 AND c.contype <> 'n'
"""

INDEXES = """
SELECT format('index on %%s, %%s', i.indrelid::regclass, pg_get_indexdef(i.indexrelid))
FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indrelid
WHERE c.relnamespace = %(schema)s::regnamespace AND c.relkind = 'r'
"""

TRIGGERS = """
SELECT format('trigger on %%s, %%s', t.tgrelid::regclass, pg_get_triggerdef(t.oid))
FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid
WHERE c.relnamespace = %(schema)s::regnamespace AND NOT t.tgisinternal
"""

FUNCTIONS = """
SELECT format('function %%s(%%s) returns %%s, %%s, %%s%%s%%s',
    p.proname, pg_get_function_arguments(p.oid), pg_get_function_result(p.oid), l.lanname,
    CASE p.provolatile WHEN 'i' THEN 'immutable' WHEN 's' THEN 'stable' ELSE 'volatile' END,
    CASE WHEN p.prosecdef THEN ', security definer' END,
    ', set ' || array_to_string(p.proconfig, '; '))
FROM pg_proc AS p JOIN pg_language AS l ON l.oid = p.prolang
WHERE p.pronamespace = %(schema)s::regnamespace
"""

ALL = (TYPES, RELATIONS, COLUMNS, CONSTRAINTS, INDEXES, TRIGGERS, FUNCTIONS)


def describe(connection: psycopg.Connection, schema: str) -> str:
    """All that a schema holds, one thing a line, in the order of the alphabet."""
    lines: list[str] = []
    with connection.transaction():
        # So that every name but the system's own is spelt out.
        connection.execute("SELECT set_config('search_path', '', true)")
        for query in ALL:
            rows = connection.execute(query.encode(), {"schema": schema}).fetchall()
            lines += [" ".join(line.split()).rstrip(":") for (line,) in rows]
    return "\n".join(sorted(lines)) + "\n"
