"""Every fence and guard is taken out once, and a named test must notice.

``python -m tests.mutants`` shows it. A mutant is a change of one file below src/tenure, SQL or
Python; the file itself is never touched: the tests run on a changed copy of the package.
"""
