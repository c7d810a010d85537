-- Keys belong to the owner of their job; an admin may share one with the whole tenant ("key_scope").

ALTER TYPE tenure.draft ADD ATTRIBUTE key_scope text;
