"""Log a cancellation: its beginning, its steps and its end."""

import logging

from tenure.domain.cancellation import CancellationRecord
from tenure.domain.tenant import Tenant

log = logging.getLogger("tenure")


class CancellationLog:
    def __init__(self, tenant: Tenant, job: int) -> None:
        self._tenant = tenant
        self._job = job
        self._logged: set[tuple[str, str]] = set()

    def begin(self, record: CancellationRecord) -> None:
        what = (
            "it was asked for again"
            if record.again
            else f"{record.initiated_by} {record.intent}s it"
        )
        self._log(logging.INFO, record, f"{what}: {record.reason}")

    def move(self, record: CancellationRecord) -> None:
        """Log each step when it begins and when it ends."""
        for step in record.progress:
            change = (step.step_name, step.status)
            if step.status != "pending" and change not in self._logged:
                self._logged.add(change)
                level = logging.WARNING if step.status == "failed" else logging.INFO
                why = f": {step.error}" if step.error else ""
                self._log(level, record, f"{step.step_name} is {step.status}{why}")

    def end(self, record: CancellationRecord) -> None:
        level = logging.INFO if record.success else logging.WARNING
        errors = "".join(f"; {error}" for error in record.errors)
        self._log(level, record, f"{record.status} in {record.duration_seconds:.3f} s{errors}")

    def _log(self, level: int, record: CancellationRecord, what: str) -> None:
        name = record.cancellation_id
        about = {"tenant": self._tenant.name, "job": self._job, "cancellation": name}
        log.log(level, "%s of job %s: %s", name, self._job, what, extra=about)
