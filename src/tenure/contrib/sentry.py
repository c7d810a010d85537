"""Errors and schedules of jobs in Sentry; needs the extra ``sentry``.

    import sentry_sdk
    from tenure.contrib.sentry import TenureIntegration

    sentry_sdk.init("https://...", integrations=[TenureIntegration()])

Write this in the module of the app: every runner imports it.
"""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import sentry_sdk
from sentry_sdk.integrations import Integration
from sentry_sdk.utils import event_from_exception

from tenure.runtime.control_exceptions import ControlException
from tenure.runtime.messages import LostAttempt, Work
from tenure.runtime.runner.attempt import Attempt
from tenure.runtime.runner.link import Link
from tenure.runtime.runner.observation import observe
from tenure.runtime.runner.owners import as_runner

FLUSH_TIMEOUT = 2.0  # seconds before a runner ends
_SCHEDULE = "schedule:"  # how the owner of a scheduled job begins
_MAX_SLUG = 50


class TenureIntegration(Integration):
    """Report what the code of jobs raises, and the runs of schedules as check-ins of monitors.

    Every failed attempt is an event, with the job, its task, queue, attempt and tenant. A runner
    reports one that ran out of time or memory, or whose process died, in its name. Stops, pauses
    and other ways to end a job by an exception are none.
    """

    identifier = "tenure"

    def __init__(self, *, monitors: bool = True) -> None:
        self.monitors = monitors

    @staticmethod
    def setup_once() -> None:
        observe(_reported, lambda: sentry_sdk.flush(FLUSH_TIMEOUT), _report_lost)


@contextmanager
def _reported(attempt: Attempt) -> Iterator[None]:
    integration = sentry_sdk.get_client().get_integration(TenureIntegration)
    if integration is None:
        yield
        return
    as_runner(_start_threads)
    with sentry_sdk.isolation_scope() as scope:
        _describe(attempt.work, attempt.link, scope)
        check_in = _CheckIn.of(attempt.work, attempt.link) if integration.monitors else None
        if check_in is not None:
            check_in.send("in_progress")
        try:
            yield
        except ControlException:
            raise
        except (Exception, SystemExit) as error:
            if not attempt.asked:
                _capture(error)
                if check_in is not None:
                    check_in.send("error")
            raise
        if check_in is not None:
            check_in.send("ok")


def _start_threads() -> None:
    """Start the threads of the SDK, so that they belong to the runner and not to a job."""
    client = sentry_sdk.get_client()
    worker = getattr(client.transport, "_worker", None)
    if worker is not None and not worker.is_alive:
        worker.start()
    if client.monitor is not None:
        client.monitor._ensure_running()


def _report_lost(lost: LostAttempt, link: Link) -> None:
    """Report an attempt whose process died or was killed, in its name."""
    integration = sentry_sdk.get_client().get_integration(TenureIntegration)
    if integration is None:
        return
    as_runner(_start_threads)
    mechanism = {"type": TenureIntegration.identifier, "handled": False}
    error = {"type": lost.type, "value": lost.message, "mechanism": mechanism}
    with sentry_sdk.isolation_scope() as scope:
        _describe(lost, link, scope)
        sentry_sdk.capture_event({"level": "error", "exception": {"values": [error]}})
        if integration.monitors and (check_in := _CheckIn.of(lost, link)) is not None:
            check_in.send("error")


def _describe(work: Work | LostAttempt, link: Link, scope: sentry_sdk.Scope) -> None:
    scope.set_transaction_name(work.task, source="task")
    facts = {
        "tenant": link.tenant,
        "job": work.id,
        "task": work.task,
        "queue": work.queue,
        "attempt": work.attempt,
    }
    for name, value in facts.items():
        scope.set_tag(f"tenure.{name}", value)
    more = {"max_attempts": work.max_attempts, "owner": work.owner, "key": work.key}
    scope.set_context("tenure", {**facts, **more, "root": work.root_id, "worker": link.worker})


def _capture(error: BaseException) -> None:
    mechanism = {"type": TenureIntegration.identifier, "handled": False}
    options = sentry_sdk.get_client().options
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_globals.get("__name__", "").startswith(
        "tenure."
    ):
        frames = frames.tb_next  # those of the runner are left out
    raised = (type(error), error, frames)
    event, hint = event_from_exception(raised, client_options=options, mechanism=mechanism)
    sentry_sdk.capture_event(event, hint=hint)


class _CheckIn:
    """The check-in of one scheduled job; its retries continue it."""

    def __init__(self, slug: str, identifier: str, config: Any) -> None:
        self._slug = slug
        self._id = identifier
        self._config = config
        self._began = time.monotonic()

    @classmethod
    def of(cls, work: Work | LostAttempt, link: Link) -> "_CheckIn | None":
        """Return the check-in of a scheduled job; None for other jobs."""
        if not work.owner.startswith(_SCHEDULE):
            return None
        name = work.owner.removeprefix(_SCHEDULE)
        schedule = link.app.schedules.get(name)
        config = schedule and {
            "schedule": {"type": "crontab", "value": schedule.cron},
            "timezone": schedule.tz,
        }
        slug = re.sub(r"[^a-z0-9_-]+", "-", name.lower()).strip("-")[:_MAX_SLUG]
        return cls(slug, uuid5(NAMESPACE_URL, f"{link.tenant}/{work.id}").hex, config)

    def send(self, status: str) -> None:
        sentry_sdk.crons.capture_checkin(
            monitor_slug=self._slug,
            check_in_id=self._id,
            status=status,
            duration=None if status == "in_progress" else time.monotonic() - self._began,
            monitor_config=self._config,
        )
