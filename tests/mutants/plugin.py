"""Runs tests on a mutated copy of Tenure: ``pytest -p tests.mutants.plugin``.

The run ends with BROKEN instead of an ordinary failure when the mutant is not a weaker Tenure but
no Tenure at all: its SQL is wrong, or what a test needs could not even be made.
"""

import os
from collections.abc import Generator
from pathlib import Path

import psycopg
import pytest

import tenure

VARIABLE = "TENURE_TEST_MUTANT"  # the folder of the copy; empty for Tenure as it is
BROKEN = 77


def pytest_configure() -> None:
    folder = os.environ.get(VARIABLE)
    if folder and not Path(tenure.__file__).is_relative_to(folder):
        raise pytest.UsageError(f"tenure was imported from {tenure.__file__}, not from {folder}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if (
        report.failed
        and call.excinfo
        and (call.when == "setup" or _is_wrong_sql(call.excinfo.value))
    ):
        item.session.shouldstop = "the mutant is broken"
        item.config.stash[_broken] = True
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    if session.config.stash.get(_broken, False):
        session.exitstatus = BROKEN


def _is_wrong_sql(error: BaseException | None) -> bool:
    """A syntax error, or a name that does not exist. A missing privilege is neither."""
    while error is not None:
        state = getattr(error, "sqlstate", None) or ""
        if isinstance(error, psycopg.Error) and state.startswith("42") and state != "42501":
            return True
        error = error.__cause__
    return False


_broken = pytest.StashKey[bool]()
