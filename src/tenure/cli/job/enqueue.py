"""``tenure job enqueue``: enqueue a job by the name of its task."""

from functools import partial
from typing import Any

from tenure.cli.completion import complete_queues
from tenure.cli.connection import Connection, connected, load_app
from tenure.cli.job.watch import follow
from tenure.cli.options import AppOption, NotBefore, TaskName, argument, flag, option
from tenure.cli.parsing import given, id_or_key, json_object, named_values, point_in_time
from tenure.errors import InputRefused


@partial(connected, may_create=True)
def enqueue(
    to: Connection,
    task: TaskName,
    arguments: list[str] | None = argument(
        "NAME=VALUE", "Arguments of the task; a JSON value is read as JSON.", None
    ),
    args: str | None = option("JSON", "Arguments of the task as a JSON object."),
    app: AppOption = None,
    queue: str | None = option(
        "NAME", "Queue, if not the queue of the task.", autocompletion=complete_queues
    ),
    priority: int | None = option("N", "Priority; higher runs first."),
    delay: str | None = option("DURATION", "Wait this long before starting: 20s, 1h30m."),
    at: NotBefore = None,
    key: str | None = option("KEY", "Name of the job, usable like its id."),
    unique: str | None = option("KEY", "Uniqueness key, held until the job has finished."),
    idempotency: str | None = option("KEY", "Idempotency key."),
    key_scope: str | None = option(
        "SCOPE", "Scope of these keys: owner (default), or tenant to share them (admins)."
    ),
    target: str | None = option("NAME", "Target; its jobs run one at a time."),
    tag: list[str] | None = option("TEXT", "Tag. Repeatable."),
    after: list[str] | None = option("JOB", "Run after this job has finished. Repeatable."),
    parent: str | None = option("JOB", "Parent of the job."),
    owner: str | None = option("NAME", "Owner, if not the caller (admins)."),
    unannounced: bool = flag("--unannounced", "Accept a task that no worker has announced yet."),
    wait: bool = flag("--wait", "Watch it until it ends; exit with 1 unless it completes."),
) -> None:
    """Enqueue a job.

    Options that are left out are as the task declares them: in --app, or else as its workers have
    announced them. An unknown task is refused, unless --unannounced is given.
    """
    # Imported here: it imports pydantic, which no other command needs.
    from tenure.control.by_name import JobRequest, enqueued_by_name

    if at is not None and delay is not None:
        raise InputRefused("--at and --delay exclude each other; give one of them")
    client: Any = to.client
    if app:
        client = load_app(app)
        to.use(client)
    options = given(
        {
            "queue": queue,
            "priority": priority,
            "delay": delay,
            "run_at": None if at is None else point_in_time(at, "--at"),
            "key": key,
            "unique": unique,
            "idempotency": idempotency,
            "key_scope": key_scope,
            "target": target,
            "tags": tag,
            "after": [id_or_key(job) for job in after or ()],
            "parent": None if parent is None else id_or_key(parent),
            "owner": owner,
        }
    )
    to.caller.require("enqueue")  # before anything is read
    values = {} if args is None else json_object(args, "--args")
    request = JobRequest(task, {**values, **named_values(arguments or ())}, options, unannounced)
    [answer] = to.perform(enqueued_by_name(client, [request]))
    if wait and to.out.json:
        to.out.json_line(answer)
    elif answer.created:
        to.out.answer(answer, f"Enqueued job {answer.id}.")
    else:
        to.out.answer(answer, f"Job {answer.id} already has this {answer.taken} key.")
    if wait:
        follow(to, answer.id)
