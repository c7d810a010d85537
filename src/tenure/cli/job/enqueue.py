"""``tenure job enqueue``: enqueue a job by the name of its task."""

from typing import Annotated, Any

import typer

from tenure.cli.completion import complete_queues
from tenure.cli.connection import Connection, connected_or_new, load_app
from tenure.cli.job.watch import follow
from tenure.cli.options import AppOption, NotBefore, TaskName
from tenure.cli.parsing import given, id_or_key, json_object, named_values, point_in_time
from tenure.errors import InputRefused


@connected_or_new
def enqueue(
    to: Connection,
    task: TaskName,
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME=VALUE", help="Arguments of the task; a JSON value is read as JSON."
        ),
    ] = None,
    args: Annotated[
        str | None,
        typer.Option("--args", metavar="JSON", help="Arguments of the task as a JSON object."),
    ] = None,
    app: AppOption = None,
    queue: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Queue, if not the queue of the task.",
            autocompletion=complete_queues,
        ),
    ] = None,
    priority: Annotated[
        int | None, typer.Option(metavar="N", help="Priority; higher runs first.")
    ] = None,
    delay: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help="Wait this long before starting: 20s, 1h30m."),
    ] = None,
    at: NotBefore = None,
    key: Annotated[
        str | None, typer.Option(metavar="KEY", help="Name of the job, usable like its id.")
    ] = None,
    unique: Annotated[
        str | None,
        typer.Option(metavar="KEY", help="Uniqueness key, held until the job has finished."),
    ] = None,
    idempotency: Annotated[str | None, typer.Option(metavar="KEY", help="Idempotency key.")] = None,
    key_scope: Annotated[
        str | None,
        typer.Option(
            metavar="SCOPE",
            help="Scope of these keys: owner (default), or tenant to share them (admins).",
        ),
    ] = None,
    target: Annotated[
        str | None, typer.Option(metavar="NAME", help="Target; its jobs run one at a time.")
    ] = None,
    tag: Annotated[list[str] | None, typer.Option(metavar="TEXT", help="Tag. Repeatable.")] = None,
    after: Annotated[
        list[str] | None,
        typer.Option(metavar="JOB", help="Run after this job has finished. Repeatable."),
    ] = None,
    parent: Annotated[str | None, typer.Option(metavar="JOB", help="Parent of the job.")] = None,
    owner: Annotated[
        str | None, typer.Option(metavar="NAME", help="Owner, if not the caller (admins).")
    ] = None,
    unannounced: Annotated[
        bool,
        typer.Option("--unannounced", help="Accept a task that no worker has announced yet."),
    ] = False,
    wait: Annotated[
        bool,
        typer.Option("--wait", help="Watch it until it ends; exit with 1 unless it completes."),
    ] = False,
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
