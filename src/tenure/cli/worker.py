"""``tenure worker``: run workers, list them, and ask one to exit."""

import os
import sys
from collections.abc import Mapping
from typing import Any, NoReturn

import msgspec

from tenure.cli.connection import Connection, action
from tenure.cli.help import CommandGroup
from tenure.cli.options import Force, Grace, LogFormat, Reason, Url, argument, flag, option
from tenure.cli.output import ago, duration_text
from tenure.cli.parsing import length
from tenure.cli.program import command, group
from tenure.config import Settings
from tenure.control.job_operations import end_runner as end
from tenure.domain.tenant import DEFAULT
from tenure.domain.values import amount
from tenure.errors import InputRefused, NotFound, SettingInvalid
from tenure.runtime.guard.system import make_memory
from tenure.runtime.platforms import require_worker_platform
from tenure.store.calls import queries, worker_calls
from tenure.store.results import WorkerInfo
from tenure.store.scale_results import QueuedWork, Scale


class WorkerGroup(CommandGroup):
    """``tenure worker shop.jobs:app`` is ``tenure worker run shop.jobs:app``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in {*self.commands, *ctx.help_option_names}:
            args = ["run", *args]
        return super().parse_args(ctx, args)


commands = group(
    "worker",
    "tenure worker shop.jobs:app",
    "tenure worker jobs.py --queues crawl,mail --processes 8",
    "tenure worker list",
    cls=WorkerGroup,
)


@command(
    commands,
    "run",
    "tenure worker shop.jobs:app",
    "tenure worker run jobs.py --queues crawl,mail --processes 8",
)
def run(
    app: str = argument("APP", "The app: package.module:app or file.py:app."),
    queues: str | None = option("NAMES", "Only these queues, separated by commas."),
    tenants: str = option("NAMES", "Tenants to serve, separated by commas.", default=DEFAULT.name),
    all_tenants: bool = flag("--all-tenants", "Serve every tenant, including future ones."),
    concurrency: int | None = option("N", "Maximum number of coroutines in the event loop.", min=1),
    processes: int | None = option(
        "N", "Maximum number of processes; each runs one plain function.", min=1
    ),
    metrics: str | None = option("HOST:PORT", "Serve metrics for Prometheus here."),
    log_format: LogFormat = None,
    verbose: bool = flag("--verbose", "Also log heartbeats and claims.", "-v"),
    json: bool = flag("--json", "Log JSON Lines."),
    reload: bool = flag(
        "--reload", "For development: start again when a Python file in this folder changes."
    ),
    url: Url = None,
) -> None:
    """Run the jobs of an app until SIGTERM or Ctrl-C; a second one stops the running jobs.

    The word "run" may be left out.

    Exit codes: 0 all running jobs finished; 1 an error; 3 the app cannot be imported; 4 jobs that
    did not finish within drain_grace were handed over; 5 the same, after a second signal.
    """
    require_worker_platform()
    if reload:
        from tenure.cli.reloading import run_reloading

        sys.exit(run_reloading([word for word in sys.argv[1:] if word != "--reload"]))
    if metrics is not None:
        _check_metrics(metrics)
    form = log_format or ("json" if json else None)
    Settings.from_environment(os.environ)  # refuse an invalid one now
    _become_keeper(
        app,
        {
            "url": url,
            "queues": None if queues is None else _names(queues, "--queues"),
            "tenants": _names(tenants, "--tenants"),
            "all_tenants": all_tenants,
            "concurrency": concurrency,
            "processes": processes,
            "metrics": metrics,
            "log_format": form,
            "form": form,
            "verbose": verbose,
            "json": json,
        },
    )


def _become_keeper(app: str, options: Mapping[str, Any]) -> NoReturn:
    """Replace this process, under the same pid, by one that imports nothing of the command line."""
    descriptor = make_memory("tenure-options")
    os.write(descriptor, msgspec.json.encode(options))
    os.set_inheritable(descriptor, True)
    sys.stdout.flush()
    sys.stderr.flush()
    # -P: no file in the current folder may replace a module of the keeper.
    words = [sys.executable, "-P", "-m", "tenure.cli.keeper", "worker", app, str(descriptor)]
    os.execv(sys.executable, words)  # noqa: S606


@action(commands, "list", "tenure worker list", "tenure worker list --all --json")
def list_workers(
    to: Connection,
    everybody: bool = flag("--all", "Include workers that are dead or have exited."),
) -> None:
    """List workers, and how many jobs each of them holds."""
    to.out.answer_table(
        tuple(_visible(to, worker) for worker in to.send(queries.workers(all=everybody))),
        ("worker", "host", "pid", "status", "queues", "jobs", "beat", "started"),
        lambda worker: (
            str(worker.id)[:8],
            worker.host,
            worker.pid,
            to.out.status(worker.status),
            "all" if worker.queues is None else ", ".join(worker.queues),
            len(worker.jobs),
            ago(worker.beat_at),
            ago(worker.started_at),
        ),
        "no workers",
    )


@action(
    commands,
    "scale",
    "tenure worker scale",
    "tenure worker scale --queue crawl --within 30s --min 1 --max 20 --json",
)
def scale(
    to: Connection,
    queue: list[str] | None = option("NAME", "Only jobs of this queue. Repeatable."),
    task: list[str] | None = option("NAME", "Only jobs of this task. Repeatable."),
    within: str = option("DURATION", "Ready jobs should begin within this time.", default="1m"),
    min: int = option("N", "Fewest workers.", default=0),  # noqa: A002
    max: int | None = option("N", "Most workers."),  # noqa: A002
) -> None:
    """Tell how many workers the work wants, why, and which ones to drain first.

    Nothing is changed.
    """
    call = queries.scale(queue, task, within=length(within, "--within"), min=min, max=max)
    to.out.answer(to.send(call), lambda seen: _print_scale(to, seen))


def _print_scale(to: Connection, seen: Scale) -> None:
    to.out.print(f"{amount(seen.wanted, 'worker')} wanted, {seen.alive} alive: {seen.sentence}")
    if seen.work:
        to.out.print()
        to.out.table(
            ("queue", "task", "ready", "running", "run time", "workers", "held back"),
            map(_work_cells, seen.work),
            "",
        )
    if seen.surplus:
        to.out.print()
        to.out.print("Drain first:")
        own = [worker for worker in seen.drain_order if not worker.shared]
        for worker in own[: seen.surplus]:
            to.out.print(f"  {str(worker.id)[:8]} on {worker.host}: {worker.sentence}")


def _work_cells(work: QueuedWork) -> tuple[str, ...]:
    return (
        work.queue,
        work.task,
        f"{work.ready:,}",
        f"{work.running:,}",
        "" if work.run_seconds is None else duration_text(work.run_seconds),
        f"{work.workers:.2f}",
        work.held_back or "",
    )


@action(commands, "drain", 'tenure worker drain 0a1b2c3d --reason "new version"')
def drain(
    to: Connection,
    worker: str = argument("WORKER", "Id of a worker, or its beginning."),
    reason: Reason = None,
) -> None:
    """Ask a worker to finish its running jobs, claim no more, and exit."""
    chosen = _find(to, worker.lower())
    answer = to.shared.send(worker_calls.drain(chosen.id, reason=reason))
    held = f"holds {amount(len(chosen.jobs), 'job') if chosen.jobs else 'no jobs'}"
    to.out.answer(answer, f"Worker {chosen.id} is draining; it {held}.")


@action(
    commands,
    "end-runner",
    "tenure worker end-runner runner-0a1b2c3d-4",
    "tenure worker end-runner runner-0a1b2c3d-4 --force",
)
def end_runner(
    to: Connection,
    runner: str = argument("RUNNER", "Id of a runner, from tenure job runners."),
    reason: Reason = None,
    force: Force = False,
    grace: Grace = None,
) -> None:
    """End a runner: a process in which a worker runs jobs.

    All jobs in it are stopped and handed over to run elsewhere, without using up an attempt. None
    is cancelled.
    """
    within = None if grace is None else length(grace, "--grace")
    answer = to.perform(end(runner, reason, force=force, grace=within))
    held = amount(len(answer.jobs), "job is", "jobs are") if answer.jobs else "no job is"
    to.out.answer(answer, f"Runner {runner} is being ended; {held} handed over.")


def _visible(to: Connection, worker: WorkerInfo) -> WorkerInfo:
    """Return the worker with the jobs that the caller may see: a token is for one tenant."""
    if not to.has_token:
        return worker
    mine = tuple(job for job in worker.jobs if job.tenant == to.tenant.name)
    return msgspec.structs.replace(worker, jobs=mine)


def _find(to: Connection, start: str) -> WorkerInfo:
    workers = to.send(queries.workers())
    found = [_visible(to, worker) for worker in workers if str(worker.id).startswith(start)]
    if not start or not found:
        raise NotFound(f"there is no live worker {start!r}; see tenure worker list")
    if len(found) > 1:
        raise InputRefused(f"{len(found)} workers begin with {start!r}; give more of the id")
    return found[0]


def _names(text: str, option: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise InputRefused(f"{option} takes names separated by commas, and this has none")
    return names


def _check_metrics(address: str) -> None:
    try:
        Settings(metrics=address)
    except SettingInvalid as error:
        raise InputRefused(f"--{error}") from None
