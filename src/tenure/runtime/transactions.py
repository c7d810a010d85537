"""The transaction of a job that also completes it."""


class JobTransaction:
    """Comes with the store's part of it."""
