"""``tenure doctor``: look at everything, and say what is not as it should be."""

import sys
from collections.abc import AsyncIterator

from rich.text import Text

from tenure.cli.connecting import Connection, connected
from tenure.cli.host import means_of_stopping
from tenure.control.checks import Finding, Level
from tenure.control.health import examine, unreachable
from tenure.errors import EmbeddedUnavailable, SchemaMismatch, StoreUnavailable

_STYLES = {Level.FINE: "green", Level.WARNING: "yellow", Level.WRONG: "red"}

EXAMPLES = ("tenure doctor", "tenure doctor --json")


@connected
def doctor(to: Connection) -> None:
    """Look at the database, the workers and the jobs, and say what to do about what is wrong.

    Exit codes: 0 nothing is wrong; 1 something is; 13 the database cannot be asked.
    """
    findings = to.run(_examined(to))
    if to.show.json:
        to.show.document({"findings": findings})
    sys.exit(_code(findings))


async def _examined(to: Connection) -> list[Finding]:
    findings = []
    async for finding in _findings(to):
        findings.append(finding)
        if not to.show.json:
            _show(to, finding)
    return findings


async def _findings(to: Connection) -> AsyncIterator[Finding]:
    try:
        caller = to.caller
    except (StoreUnavailable, EmbeddedUnavailable, SchemaMismatch) as error:
        yield unreachable(error)
        return
    async for finding in examine(caller):
        yield finding
    yield means_of_stopping()


def _show(to: Connection, finding: Finding) -> None:
    sign = "!" if finding.level is Level.WARNING else to.show.tick(finding.level is Level.FINE)
    to.show.say(Text(f"{sign} {finding.check:<12}", _STYLES[finding.level]), finding.sentence)
    if finding.remedy is not None:
        to.show.say(f"{'':15}{finding.remedy}", style="dim")


def _code(findings: list[Finding]) -> int:
    wrong = [finding for finding in findings if finding.level is Level.WRONG]
    if any(finding.check in ("postgresql", "schema") for finding in wrong):
        return StoreUnavailable.exit_code
    return 1 if wrong else 0
