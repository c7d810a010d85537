"""Code that Tenure brings along for jobs that are not Python functions."""
