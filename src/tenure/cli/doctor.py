"""``tenure doctor``: check everything, and report what is wrong."""

import os
import sys
from collections.abc import AsyncIterator

from rich.text import Text

from tenure.cli.connection import Connection, connected
from tenure.control.authorized_client import AuthorizedClient
from tenure.control.checks import Finding, Level, fine, warning
from tenure.control.health import examine, unreachable
from tenure.errors import EmbeddedUnavailable, NotAllowed, SchemaMismatch, StoreUnavailable
from tenure.store.calls import queries

_STYLES = {Level.FINE: "green", Level.WARNING: "yellow", Level.WRONG: "red"}

EXAMPLES = ("tenure doctor", "tenure doctor --json")


@connected
def doctor(to: Connection) -> None:
    """Check the database, the workers and the jobs, and suggest what to do about problems.

    Exit codes: 0 nothing is wrong; 1 something is wrong; 13 the database cannot be reached.
    """
    findings = to.run(_collect(to))
    if to.out.json:
        to.out.document({"findings": findings})
    sys.exit(_exit_code(findings))


async def _collect(to: Connection) -> list[Finding]:
    findings = []
    async for finding in _findings(to):
        findings.append(finding)
        if not to.out.json:
            _print(to, finding)
    return findings


async def _findings(to: Connection) -> AsyncIterator[Finding]:
    try:
        caller = to.caller
    except (StoreUnavailable, EmbeddedUnavailable, SchemaMismatch) as error:
        yield unreachable(error)
        return
    async for finding in examine(caller):
        yield finding
    yield await _start_of_runners(caller)
    yield _means_of_stopping()


async def _start_of_runners(caller: AuthorizedClient) -> Finding:
    """Report how the workers on this host start their runners, and why."""
    if sys.platform != "linux":
        return fine("runners", "workers need Linux")
    from tenure.runtime.leftovers import runner_starts

    try:
        workers = {worker.id for worker in await caller.asend(queries.workers())}
    except NotAllowed as error:
        return warning("runners", f"not checked: {error}", "use the token of an admin")
    starts = {worker: how for worker, how in runner_starts().items() if worker in workers}
    if not starts:
        return fine("runners", "no worker of this database runs on this host as this user")
    shown = [f"worker {str(worker)[:8]} starts them by {how}" for worker, how in starts.items()]
    return fine("runners", "; ".join(shown))


def _means_of_stopping() -> Finding:
    """Report how a worker on this host would end processes, found by trying."""
    if sys.platform != "linux":
        return fine("stopping", "workers need Linux; jobs on other hosts can be stopped from here")
    from tenure.runtime.guard import cgroups, processes

    group = cgroups.open_for(f"doctor-{os.getpid()}")
    if group is not None:
        group.remove()
    trees = "by control groups" if group else "by walking /proc, as there are no control groups"
    shows = "shows" if processes.read("/proc/self/syscall") else "does not show"
    return fine(
        "stopping",
        f"a worker on this host ends process trees {trees}; the kernel {shows} which threads wait",
    )


def _print(to: Connection, finding: Finding) -> None:
    sign = "!" if finding.level is Level.WARNING else to.out.tick(finding.level is Level.FINE)
    to.out.print(Text(f"{sign} {finding.check:<12}", _STYLES[finding.level]), finding.sentence)
    if finding.remedy is not None:
        to.out.print(f"{'':15}{finding.remedy}", style="dim")


def _exit_code(findings: list[Finding]) -> int:
    wrong = [finding for finding in findings if finding.level is Level.WRONG]
    if any(finding.check in ("postgresql", "schema") for finding in wrong):
        return StoreUnavailable.exit_code
    return 1 if wrong else 0
