-- Return whether the caller may state who asks and with which role, so that a name it gives counts.
CREATE OR REPLACE FUNCTION tenure.is_trusted() RETURNS boolean
LANGUAGE sql STABLE
RETURN tenure.actor('somebody') = 'somebody';
