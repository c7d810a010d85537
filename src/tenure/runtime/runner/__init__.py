"""A runner: the process in which the code of jobs runs."""
