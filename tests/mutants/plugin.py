"""Puts one mutant into the databases of a test run: ``pytest -p tests.mutants.plugin``.

The run ends with BROKEN instead of an ordinary failure when the mutant is not a weaker Tenure but
no Tenure at all: its SQL is wrong, or the database could not even be made.
"""

import os
from collections.abc import Generator, Iterator

import psycopg
import pytest

from tenure.domain.tenant import Tenant
from tenure.store import schema
from tests.mutants.catalogue import by_name
from tests.mutants.mutant import SCRIPT, Mutant, text_of

VARIABLE = "TENURE_TEST_MUTANT"
BROKEN = 77


def pytest_configure() -> None:
    name = os.environ.get(VARIABLE)
    if name:
        mutant = by_name(name)
        mutant.applied(text_of(mutant.file))  # now, rather than in the middle of a test
        _put(mutant)


def _put(mutant: Mutant) -> None:
    files, script = schema._files, schema.script

    def mutated_files(folder: str, kind: str) -> Iterator[tuple[str, str]]:
        for name, text in files(folder, kind):
            is_it = mutant.file == f"{folder}/{kind}/{name}"
            yield name, mutant.applied(text) if is_it else text

    def mutated_script(tenant: Tenant) -> str:
        text = script(tenant)
        return mutant.applied(text) if mutant.file == SCRIPT else text

    schema._files = mutated_files
    schema.script = mutated_script


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
