"""Built-in code for jobs that are not Python functions."""
