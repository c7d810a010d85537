"""The periodic services of a worker, besides running jobs."""
