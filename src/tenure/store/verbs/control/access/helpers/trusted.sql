-- Whether the caller may say who asks, and with which role: whether a name that it gives counts.
CREATE OR REPLACE FUNCTION tenure.trusted() RETURNS boolean
LANGUAGE sql STABLE
RETURN tenure.actor('somebody') = 'somebody';
