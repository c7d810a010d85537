"""The answer of the verb that reads jobs for a list."""

from collections.abc import Mapping

import msgspec

from tenure.domain.job import JobSummary
from tenure.domain.lifecycle import State

MAX_CHILDREN = 1000  # that are counted; one more stands for all others


class JobRow(JobSummary, frozen=True, kw_only=True):
    """A job as a list shows it: its arguments without secrets, and none if they are large."""

    children: Mapping[State, int] | None  # their number by state


class JobRows(msgspec.Struct, frozen=True):
    """A page of a list, with the children of the jobs whose children are shown."""

    ids: tuple[int, ...]  # of the page, newest first
    rows: tuple[JobRow, ...]
