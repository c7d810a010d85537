"""Every fence and guard is taken out once, and a named test must notice.

``python -m tests.mutants`` shows it. A mutant is a change of one SQL file; the file itself is never
touched: a plugin of pytest changes its text on the way into the test's database.
"""
