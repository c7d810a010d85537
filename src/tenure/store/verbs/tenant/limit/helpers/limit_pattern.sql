-- Return the pattern for LIKE of a limit's name; a key in braces stands for at least one character.
CREATE OR REPLACE FUNCTION tenant.limit_pattern(name text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN regexp_replace(replace(replace(replace(name, '\', '\\'), '%', '\%'), '_', '\_'),
    '\{[^{}]*\}', '_%', 'g');
