"""An app: its task functions and schedules."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from types import MappingProxyType
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Literal,
    ParamSpec,
    Protocol,
    TypeVar,
    Unpack,
    overload,
)

from typing_extensions import TypedDict

from tenure.config import Settings
from tenure.control.client import Client, as_tenant
from tenure.control.declaration import (
    read_argv,
    read_executor,
    read_name,
    read_template,
    read_templates,
    refusals_of,
)
from tenure.control.enqueue_options import EnqueueOptionSet
from tenure.control.handle import Handle
from tenure.control.job_operations import end_runner, job_with_key
from tenure.control.questions import publish
from tenure.control.schedule import Overlap, Schedule, make_schedule
from tenure.control.signature import Signature, name_of
from tenure.control.task import Task
from tenure.domain.duration import Duration
from tenure.domain.job import JSON, Job
from tenure.domain.options import Executor, JobOptions, refuse_unknown
from tenure.domain.tenant import DEFAULT, Tenant
from tenure.domain.values import shown
from tenure.errors import SettingInvalid
from tenure.runtime.context import Context
from tenure.runtime.worker import Worker
from tenure.store.results import RunnerEnding

if TYPE_CHECKING:
    from tenure.control.cancellation import CancellationService

P = ParamSpec("P")
R = TypeVar("R")
AnyTask = TypeVar("AnyTask", bound=Task[..., Any])


class CommonOptions(JobOptions, total=False):
    target: str | None  # a template: "site:{site}"
    unique: str | None  # a template too
    limits: Sequence[str]  # templates: "openai:{model}"
    compensate: Task[..., Any] | None


class TaskOptions(CommonOptions, total=False):
    name: str
    executor: Literal["async", "process", "thread"]


class CommandResult(TypedDict):
    exit_code: int


class TaskDecorator(Protocol):
    """The decorator ``@app.task(...)``: a task has the signature without the context."""

    @overload
    def __call__(
        self, function: Callable[Concatenate[Context, P], Coroutine[Any, Any, R]], /
    ) -> Task[P, R]: ...
    @overload
    def __call__(self, function: Callable[Concatenate[Context, P], R], /) -> Task[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> Task[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> Task[P, R]: ...


class Tenure(Client):
    """An app: its database, and the tasks and schedules it declares.

    Connections are opened at the first use. Example:

        app = Tenure()

        @app.task(queue="crawl", retry=3)
        async def crawl(ctx: Context, site: str) -> int: ...

        crawl.enqueue("example.org")
    """

    def __init__(self, url: str | None = None, *, settings: Settings | None = None) -> None:
        super().__init__(url, settings=settings)
        self._tasks: dict[str, Task[..., Any]] = {}
        self._schedules: dict[str, Schedule] = {}
        self.tasks: Mapping[str, Task[..., Any]] = MappingProxyType(self._tasks)
        self.schedules: Mapping[str, Schedule] = MappingProxyType(self._schedules)

    @overload
    def task(
        self, function: Callable[Concatenate[Context, P], Coroutine[Any, Any, R]], /
    ) -> Task[P, R]: ...
    @overload
    def task(self, function: Callable[Concatenate[Context, P], R], /) -> Task[P, R]: ...
    @overload
    def task(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> Task[P, R]: ...
    @overload
    def task(self, function: Callable[P, R], /) -> Task[P, R]: ...
    @overload
    def task(self, /, **options: Unpack[TaskOptions]) -> TaskDecorator: ...
    def task(self, function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
        """Declare a task: ``@app.task`` or ``@app.task(queue="crawl", ...)``.

        A first parameter that is annotated with ``Context`` is passed by the worker. Coroutines run
        in an event loop, functions in a process, or in a thread with ``executor="thread"``.
        """

        def declare(function: Callable[..., Any]) -> Task[..., Any]:
            return self._declared(function, options)

        return declare if function is None else declare(function)

    def command(
        self, name: str, argv: Sequence[str], **options: Unpack[CommonOptions]
    ) -> Task[..., CommandResult]:
        """Declare a task that runs a program.

        ``app.command("resize", ["convert", "{source}", "{to}"])``: the names in braces are its
        parameters, strings or numbers. Each stays one argument, whatever its value is. The program
        itself cannot be a parameter.
        """
        templates, types = read_argv(name, argv)

        def run(ctx: Context, **arguments: JSON) -> Any:
            # Imported here: a program that only enqueues does not need the executors.
            from tenure.runtime.executors.command import run

            return run(ctx, [template.fill(arguments) for template in templates])

        signature = Signature(types, takes_context=True, returns=CommandResult)
        return self._added(name, run, signature, "command", dict(options))

    @overload
    def schedule(
        self,
        cron: str,
        *,
        tz: str = "UTC",
        overlap: Overlap = "skip",
        name: str | None = None,
        catch_up: Duration = "60s",
        args: Mapping[str, Any] | None = None,
    ) -> Callable[[AnyTask], AnyTask]: ...
    @overload
    def schedule(
        self,
        cron: str,
        *,
        task: Task[..., Any],
        tz: str = "UTC",
        overlap: Overlap = "skip",
        name: str | None = None,
        catch_up: Duration = "60s",
        args: Mapping[str, Any] | None = None,
    ) -> Schedule: ...
    def schedule(
        self, cron: str, *, task: Task[..., Any] | None = None, name: str | None = None, **how: Any
    ) -> Any:
        """Enqueue a task at these times: ``@app.schedule("0 3 * * *", tz="Europe/Berlin")``.

        Put it above ``@app.task``, or pass the task. ``overlap`` decides what happens when the
        previous job has not ended, ``catch_up`` how late a job may still be enqueued.
        """

        def declare(task: AnyTask) -> AnyTask:
            self._scheduled(task, cron, name, how)
            return task

        return declare if task is None else self._scheduled(task, cron, name, how)

    def worker(
        self,
        *,
        queues: Sequence[str] | None = None,
        tenants: Sequence[str] | None = None,
        all_tenants: bool = False,
        concurrency: int | None = None,
        processes: int | None = None,
    ) -> Worker:
        """Return a worker that runs next to this program: ``async with app.worker():``."""
        return Worker(
            self,
            queues=queues,
            tenants=tenants,
            all_tenants=all_tenants,
            concurrency=concurrency,
            processes=processes,
        )

    @property
    def cancellations(self) -> "CancellationService":
        """Return the cancellation service of the default tenant."""
        # Imported here: a runner does not need it, and starts sooner.
        from tenure.control.cancellation import CancellationService

        return CancellationService(self)

    def handle(self, job: int | str, *, tenant: Tenant | str = DEFAULT) -> Handle[Any]:
        """Return a handle by the id of a job, without a query, or by its key."""
        if isinstance(job, str):
            job = self.perform(job_with_key(job), as_tenant(tenant))
        return Handle(self, job, as_tenant(tenant))

    async def ahandle(self, job: int | str, *, tenant: Tenant | str = DEFAULT) -> Handle[Any]:
        """Async version of ``handle``."""
        if isinstance(job, str):
            job = await self.aperform(job_with_key(job), as_tenant(tenant))
        return Handle(self, job, as_tenant(tenant))

    def end_runner(
        self,
        runner: str,
        reason: str | None = None,
        *,
        force: bool = False,
        grace: Duration | None = None,
        by: str | None = None,
        tenant: Tenant | str = DEFAULT,
    ) -> RunnerEnding:
        """End a runner by its id (see ``Handle.runners``).

        All jobs in it are stopped within ``grace``, at once with ``force``, and are released to run
        elsewhere, without spending an attempt. None of them is cancelled.
        """
        how = end_runner(runner, reason, force=force, grace=grace, by=by)
        return self.perform(how, as_tenant(tenant))

    async def aend_runner(
        self,
        runner: str,
        reason: str | None = None,
        *,
        force: bool = False,
        grace: Duration | None = None,
        by: str | None = None,
        tenant: Tenant | str = DEFAULT,
    ) -> RunnerEnding:
        """Async version of ``end_runner``."""
        how = end_runner(runner, reason, force=force, grace=grace, by=by)
        return await self.aperform(how, as_tenant(tenant))

    def publish(
        self,
        name: str,
        key: str | int = "",
        payload: JSON = None,
        *,
        keep: Duration = "7d",
        by: str | None = None,
        tenant: Tenant | str = DEFAULT,
        connection: Any = None,
    ) -> int:
        """Publish an event and return its id: every job that waits for its name and key gets it.

        Also a job that begins to wait within ``keep``. With a connection it is published in the
        caller's transaction.
        """
        made = publish(name, key, payload, keep=keep, by=by)
        return self.perform(made, as_tenant(tenant), connection)

    async def apublish(
        self,
        name: str,
        key: str | int = "",
        payload: JSON = None,
        *,
        keep: Duration = "7d",
        by: str | None = None,
        tenant: Tenant | str = DEFAULT,
        connection: Any = None,
    ) -> int:
        """Async version of ``publish``."""
        made = publish(name, key, payload, keep=keep, by=by)
        return await self.aperform(made, as_tenant(tenant), connection)

    def read_result(self, job: Job) -> Any:
        """Return the result of a job, converted to the type that its task returns."""
        task = self._tasks.get(job.task or "")
        return job.result if task is None else task.read_result(job.result)

    def announcement(self) -> dict[str, JSON]:
        """Return what a worker has to know of this app, as JSON."""
        return {
            "tasks": [task.announcement() for task in self._tasks.values()],
            "schedules": [schedule.announcement() for schedule in self._schedules.values()],
        }

    # How a test runs the code of a job.

    def _run_coroutine(
        self, function: Callable[P, Coroutine[Any, Any, R]], *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """Run a coroutine in a test that is a function."""
        return asyncio.run(function(*args, **kwargs))

    async def _run_in_thread(
        self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """Run a function in a test that is a coroutine."""
        return await asyncio.to_thread(function, *args, **kwargs)

    def _declared(self, function: Callable[..., Any], options: dict[str, Any]) -> Task[..., Any]:
        name = options.pop("name", None)
        executor = options.pop("executor", None)
        label = name or getattr(function, "__qualname__", function)
        with refusals_of(label):
            signature = Signature.of(function)
            name = name_of(function) if name is None else name
            executor = read_executor(executor, function)
        return self._added(name, function, signature, executor, options)

    def _added(
        self,
        name: str,
        function: Callable[..., Any],
        signature: Signature,
        executor: Executor,
        written: dict[str, Any],
    ) -> Task[..., Any]:
        with refusals_of(name):
            refuse_unknown(written, TaskOptions.__annotations__)
            task: Task[..., Any] = Task(
                self,
                read_name(name),
                signature,
                function=function,
                executor=executor,
                target=read_template("target", written.pop("target", None), signature),
                unique=read_template("unique", written.pop("unique", None), signature),
                limits=read_templates("limits", written.pop("limits", ()), signature),
                compensate=written.pop("compensate", None),
                options=EnqueueOptionSet().changed(written),
            )
            task.options.check_ask_for(task.options.grace or self.settings.stop_grace)
            _refuse_compensation(task)
        if name in self._tasks:
            raise SettingInvalid(
                f"there are two tasks named {shown(name)}; give one of them another name="
            )
        self._tasks[name] = task
        return task

    def _scheduled(
        self, task: Task[..., Any], cron: str, name: str | None, how: Mapping[str, Any]
    ) -> Schedule:
        made = make_schedule(task, cron, name, **how)
        if made.name in self._schedules:
            raise SettingInvalid(
                f"there are two schedules named {shown(made.name)}; give one of them another name="
            )
        self._schedules[made.name] = made
        return made


def _refuse_compensation(task: Task[..., Any]) -> None:
    if task.compensate is None:
        return
    if not isinstance(task.compensate, Task):
        raise SettingInvalid(f"compensate: it takes a task, not {shown(task.compensate)}")
    if task.compensate.client is not task.client:
        raise SettingInvalid(f"compensate: {shown(task.compensate.name)} is a task of another app")
