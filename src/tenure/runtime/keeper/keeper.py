"""One registered worker, from registering to unregistering: its parts, and how they are connected.

A worker that was declared dead never comes back under the same id: its keeper ends, and the
process makes another.
"""

import logging
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence, Set
from itertools import count
from typing import Any
from uuid import UUID

from tenure.config import Settings
from tenure.domain.tenant import Tenant
from tenure.errors import TenureError
from tenure.observe.counting import Counting
from tenure.runtime.guard.guard_state import boottime
from tenure.runtime.guarding import Guard
from tenure.runtime.keeper.background_tasks import BackgroundTasks
from tenure.runtime.keeper.database.access import DatabaseAccess, ask_within
from tenure.runtime.keeper.database.activity import ActivityCounter, TenantActivityWatch
from tenure.runtime.keeper.database.clock import DatabaseClock
from tenure.runtime.keeper.database.dispatcher import Dispatcher, ExchangeDispatcher
from tenure.runtime.keeper.database.exchange import Exchange, ExchangeDeps
from tenure.runtime.keeper.database.lease import Lease
from tenure.runtime.keeper.database.lease_renewal import LeaseRenewal
from tenure.runtime.keeper.database.reports import Reports
from tenure.runtime.keeper.runs.conclusions import Conclusions
from tenure.runtime.keeper.runs.grant_requests import GrantRequests
from tenure.runtime.keeper.runs.inspections import Inspections
from tenure.runtime.keeper.runs.lost_attempts import LostAttempts
from tenure.runtime.keeper.runs.run_table import RunTable
from tenure.runtime.keeper.runs.run_times import MeasuredTimes, RunTimes
from tenure.runtime.keeper.runs.runner import Runner
from tenure.runtime.keeper.runs.runner_group import RunnerGroups
from tenure.runtime.keeper.runs.runner_launcher import RunnerLauncher
from tenure.runtime.keeper.runs.runner_pool import RunnerPool
from tenure.runtime.keeper.runs.runner_requests import RunnerRequests
from tenure.runtime.keeper.runs.supervisor import RunSupervisor
from tenure.runtime.keeper.services.chores import OpenTenants
from tenure.runtime.keeper.stops.drain import DrainRequest
from tenure.runtime.keeper.stops.interrupts import Interrupts
from tenure.runtime.keeper.stops.ladder import Ladder
from tenure.runtime.keeper.stops.progress import StopProgress
from tenure.runtime.keeper.stops.stops import Stops
from tenure.runtime.messages import Kind
from tenure.store.calls import worker_calls
from tenure.store.results import Holding, SignalsRead
from tenure.store.serial_connection import SerialConnection

_log = logging.getLogger("tenure.worker")

_LAST_CALL = 5.0  # seconds, at most


class Keeper:
    def __init__(
        self,
        worker: UUID,
        url: str,
        settings: Settings,
        *,
        tenants: Sequence[Tenant] | None,
        queues: Sequence[str] | None,
        guard: Guard,
        launcher: RunnerLauncher,
        first_runner: Runner,
        folder: str,
        counts: Counting,
    ) -> None:
        self.id = worker
        self.settings = settings
        self.queues = queues
        self.guard = guard
        self.launcher = launcher
        self.counts = counts
        self.tenants = None if tenants is None else [tenant.name for tenant in tenants]  # None: all

        self.tasks = BackgroundTasks()
        self.clock = DatabaseClock()
        self.lease = Lease(guard, settings)
        self.database = DatabaseAccess(url, settings, self.lease, self.tasks)
        self.runs = RunTable(self.lease)
        self.draining = DrainRequest(self.runs)

        # By tenant; filled below and when tenants come, emptied when they go.
        self.exchanges: dict[str, Exchange] = {}
        self.reports: dict[str, Reports] = {}
        self.groups: RunnerGroups = {}
        self._tasks_by_kind: Mapping[Kind, Sequence[str]] = {}
        self._report_numbers = count(1)
        self.exchange_dispatcher = ExchangeDispatcher()
        self.report_dispatcher: Dispatcher[Reports] = Dispatcher()
        self.open_chores: defaultdict[str, OpenTenants] = defaultdict(OpenTenants)  # by name
        self.activity = ActivityCounter(self.clock)
        self.activity_watch = TenantActivityWatch(
            self.tenants,
            self.database.shared,
            self.exchanges,
            self.activity,
            settings.poll,
            on_found=self.add_tenants,
            on_gone=self.remove_tenants,
        )

        self.measured = MeasuredTimes()
        lost = LostAttempts(self.groups)
        self.conclusions = Conclusions(
            worker=worker,
            settings=settings,
            runs=self.runs,
            groups=self.groups,
            exchanges=self.exchanges,
            reports=self.reports,
            database=self.database,
            clock=self.clock,
            counts=counts,
            measured=self.measured,
            lost=lost,
            tasks=self.tasks,
        )
        progress = StopProgress(worker, self.database, self.clock, counts, self.tasks)
        ladder = Ladder(
            worker,
            progress,
            Interrupts(self.tasks),
            self.database,
            self.tasks,
            self.conclusions.withdraw,
        )
        self.stops = Stops(self.runs, launcher, ladder, progress, self.database, self.clock)
        self.inspections = Inspections(worker, self.database, self.tasks)
        times = RunTimes()
        self.supervisor = RunSupervisor(
            worker=worker,
            settings=settings,
            folder=folder,
            guard=guard,
            lease=self.lease,
            clock=self.clock,
            runs=self.runs,
            exchanges=self.exchanges,
            reports=self.reports,
            conclusions=self.conclusions,
            stops=self.stops,
            inspections=self.inspections,
            groups=self.groups,
            times=times,
            requests=RunnerRequests(
                worker,
                self.database,
                self.lease,
                self.exchanges,
                self.reports,
                self.tasks,
                GrantRequests(self.reports),
            ),
            counts=counts,
            tasks=self.tasks,
        )
        self.pool = RunnerPool(
            first_runner,
            launcher,
            worker=worker,
            settings=settings,
            runner_settings=runner_settings(settings, url),
            folder=folder,
            groups=self.groups,
            exchanges=self.exchanges,
            supervisor=self.supervisor,
            times=times,
            lost=lost,
            give_back=self.conclusions.give_back_waiting,
            may_claim=self.may_claim,
            on_capacity=self.exchange_dispatcher.capacity_freed,
        )
        self.renewal = LeaseRenewal(
            worker,
            self,
            self.lease,
            SerialConnection(url, settings),
            self.clock,
            settings,
            self.database.report_outage,
        )
        self._exchange_deps = ExchangeDeps(
            worker=worker,
            settings=settings,
            queues=queues,
            dispatcher=self.exchange_dispatcher,
            database=self.database,
            lease=self.lease,
            runs=self.runs,
            counts=counts,
            exchanges=self.exchanges,
            open_chores=self.open_chores,
            may_claim=self.may_claim,
            on_moved=self.activity.moved,
            on_claimed=self.supervisor.start,
        )
        self.add_tenants(self.tenants or ())

    def may_claim(self) -> bool:
        """Return whether new jobs may start; a guard that is gone starts nothing."""
        return self.draining.reason is None and self.lease.is_trusted and not self.guard.is_gone

    def is_idle(self) -> bool:
        """Return whether nothing runs and every ending is recorded."""
        return not self.runs and all(exchange.is_settled for exchange in self.exchanges.values())

    # The tenants.

    def serve(self, tasks: Mapping[Kind, Sequence[str]]) -> None:
        """Claim jobs of these tasks from now on."""
        self._tasks_by_kind = tasks
        for name in self.exchanges:
            self._add_groups(name)

    def add_tenants(self, names: Collection[str]) -> None:
        for name in names:
            if name in self.exchanges:
                continue
            self.exchanges[name] = Exchange(Tenant(name), self._exchange_deps)
            self.reports[name] = Reports(
                Tenant(name),
                worker=self.id,
                dispatcher=self.report_dispatcher,
                database=self.database,
                runs=self.runs,
                stops=self.stops,
                tasks=self.tasks,
                patience=self.settings.lease.total_seconds(),
                numbers=self._report_numbers,
                on_recorded=self.conclusions.reports_recorded,
            )
            self._add_groups(name)

    def _add_groups(self, name: str) -> None:
        for kind, tasks in self._tasks_by_kind.items():
            self.exchanges[name].serve(self.pool.add_group(kind, name), tasks)

    def remove_tenants(self, gone: Set[str]) -> None:
        """Remove tenants that were dropped, as soon as nothing of them runs."""
        for run in self.runs:
            if run.tenant in gone and run.has_ended:
                self.conclusions.abandon(run)
            elif run.tenant in gone and not run.lost:
                self.conclusions.drop(run, "its tenant was dropped")
        for name in gone - {run.tenant for run in self.runs}:
            self.exchanges.pop(name).close()
            self.reports.pop(name).close()
            self.pool.remove_tenant(name)

    # What the database announces.

    def receive_notice(self, notice: str) -> None:
        """Handle a notice; an empty payload means that anything may have changed."""
        about, _, tenant = notice.partition(" ")
        if about != "jobs":
            self.lease.read_signals_now()
        if about == "jobs" and tenant in self.exchanges:
            self.exchanges[tenant].expect_job()
        elif about != "orders":
            self.activity_watch.poll_now()

    # The holder of the lease, as LeaseRenewal knows it.

    @property
    def trouble(self) -> str | None:
        return self.pool.trouble

    def describe_runners(self) -> Mapping[str, Mapping[str, Any]]:
        return self.pool.describe()

    def holdings(self) -> list[Holding]:
        return self.runs.holdings()

    def receive_signals(self, answer: SignalsRead) -> None:
        for signal in answer.signals:
            run = self.runs.of(signal.tenant, signal.job_id, signal.token)
            if run is None:
                continue
            if (inspection := signal.orders.get("inspection")) is not None:
                self.inspections.receive_signal(int(inspection), run)
            else:
                self.stops.receive_signal(signal, run)
        for name, order in answer.ending.items():
            self.stops.end_runner(name, order)
        if answer.draining:
            self.draining.make("somebody asked this worker to drain")

    async def thaw(self, lost: Sequence[Holding]) -> None:
        gone = {(holding.tenant, holding.job, holding.token) for holding in lost}
        for run in self.runs:
            if (run.tenant, run.job.id, run.job.token) in gone:
                self.conclusions.drop(run, "it is another worker's by now")
        if self.guard.is_frozen:
            thawed = await self.guard.thaw()
            _log.warning("the database is back; jobs %s", "continue" if thawed else "stay frozen")
        for exchange in self.exchanges.values():
            exchange.wake()

    def check_guard(self) -> None:
        if self.guard.seems_stuck(boottime()):
            _log.error("the guard does not respond: ending it")
            self.tasks.start(self.guard.end_it())

    # The end.

    async def flush_after_lease_lost(self, line: SerialConnection) -> None:
        """Send the endings of jobs that ended before this worker knew that it was declared dead.

        They are refused, and the refusals are on record.
        """
        for name, exchange in self.exchanges.items():
            if endings := exchange.undelivered:
                try:
                    call = worker_calls.finish(self.id, endings)
                    refused = await ask_within(line, call, _LAST_CALL, Tenant(name))
                except TenureError as problem:
                    _log.warning("what ended too late is not on record: %s", problem)
                else:
                    for job in refused.late:
                        self.runs.refuse_late_write(name, job, "its end")
        await line.close()

    async def unregister(self) -> None:
        """Leave the fleet; others recover at once what is still held."""
        try:
            await self.database.shared.leave(self.id)
        except TenureError as problem:
            _log.warning("could not unregister: %s", problem)


def runner_settings(settings: Settings, url: str) -> Mapping[str, Any]:
    """Return the settings that a runner needs."""
    return {
        "threads": settings.threads,
        "stop_grace": settings.stop_grace.total_seconds(),
        "artifacts": settings.artifacts_url,
        "max_artifact_bytes": settings.max_artifact_bytes,
        "max_result_bytes": settings.max_result_bytes,
        "max_log_lines": settings.max_log_lines,
        "lease": settings.lease.total_seconds(),
        "url": url,
    }
