"""``tenure job enqueue``: make a job of a task function."""

import sys
import traceback
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tenure.cli.completing import complete_queues, complete_tasks
from tenure.cli.connecting import Connection, connected_or_new
from tenure.cli.following import follow
from tenure.cli.reading import an_object, given, id_or_key, moment, named_values
from tenure.errors import InputRefused, SettingInvalid

if TYPE_CHECKING:
    from tenure.runtime.runner.app_loader import App

NOT_IMPORTED = 3


@connected_or_new
def enqueue(
    to: Connection,
    task: Annotated[
        str,
        typer.Argument(
            metavar="TASK", help="The name of a task function.", autocompletion=complete_tasks
        ),
    ],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME=VALUE", help="Its arguments; a value that is JSON is taken as JSON."
        ),
    ] = None,
    args: Annotated[
        str | None, typer.Option("--args", metavar="JSON", help="Its arguments as a JSON object.")
    ] = None,
    app: Annotated[
        str | None,
        typer.Option(
            metavar="APP",
            envvar="TENURE_APP",
            show_envvar=False,
            help="Check arguments and take options as this app says: module:app (TENURE_APP).",
        ),
    ] = None,
    queue: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Another queue.", autocompletion=complete_queues),
    ] = None,
    priority: Annotated[
        int | None, typer.Option(metavar="N", help="Higher ones come first.")
    ] = None,
    delay: Annotated[
        str | None, typer.Option(metavar="LENGTH", help="Not before this has passed: 20s, 1h30m.")
    ] = None,
    at: Annotated[
        str | None, typer.Option(metavar="WHEN", help="Not before: 2030-01-01T12:00Z.")
    ] = None,
    key: Annotated[
        str | None, typer.Option(metavar="KEY", help="A name for it, to be used like its id.")
    ] = None,
    unique: Annotated[
        str | None, typer.Option(metavar="KEY", help="Not if a job that is not over has this key.")
    ] = None,
    idempotency: Annotated[
        str | None, typer.Option(metavar="KEY", help="Once, however often this is said.")
    ] = None,
    key_scope: Annotated[
        str | None,
        typer.Option(
            metavar="SCOPE",
            help="Whose these keys are: owner (default), or tenant to share them (admins).",
        ),
    ] = None,
    target: Annotated[
        str | None, typer.Option(metavar="NAME", help="What it works on, one job at a time.")
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="A tag; may be said again.")
    ] = None,
    after: Annotated[
        list[str] | None, typer.Option(metavar="JOB", help="It comes after; may be said again.")
    ] = None,
    parent: Annotated[
        str | None, typer.Option(metavar="JOB", help="The job whose task it is.")
    ] = None,
    owner: Annotated[
        str | None, typer.Option(metavar="NAME", help="Whose it is; admins may say so.")
    ] = None,
    unannounced: Annotated[
        bool,
        typer.Option("--unannounced", help="Let it wait if no worker has announced its task yet."),
    ] = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Follow it to its end; exit with 1 unless it completes.")
    ] = False,
) -> None:
    """Make a job of a task function.

    What it does not say is as the task declares. Without --app that is what its workers have
    announced; a task that is not known is refused, unless it may wait with --unannounced.
    """
    # Here and not above: it brings pydantic with it, which no other command needs.
    from tenure.control.by_name import JobRequest, enqueued_by_name

    if at is not None and delay is not None:
        raise InputRefused("--at and --delay both say when; give one of them")
    client: Any = to.client
    if app:
        client = load(app)
        to.use(client)
    said = given(
        {
            "queue": queue,
            "priority": priority,
            "delay": delay,
            "run_at": None if at is None else moment(at, "--at"),
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
    to.caller.require("enqueue")  # before anything is looked up
    told = {**({} if args is None else an_object(args, "--args")), **named_values(arguments or ())}
    [answer] = to.perform(enqueued_by_name(client, [JobRequest(task, told, said, unannounced)]))
    if to.show.json:
        to.show.line(answer) if wait else to.show.document(answer)
    elif answer.created:
        to.show.say(f"Enqueued job {answer.id}.")
    else:
        to.show.say(f"Job {answer.id} is there already: its {answer.taken} key is taken.")
    if wait:
        follow(to, answer.id)


def load(path: str) -> "App":
    """The app at this place; what is wrong with it is told with its traceback."""
    from tenure.runtime.runner.app_loader import load

    try:
        with redirect_stdout(sys.stderr):
            return load(path)
    except SettingInvalid as error:
        typer.echo(f"tenure: {error}", err=True)
    except (Exception, SystemExit) as error:  # noqa: BLE001
        typer.echo(traceback.format_exc(), err=True, nl=False)
        typer.echo(f"tenure: {path} cannot be imported: {type(error).__name__}: {error}", err=True)
    raise typer.Exit(NOT_IMPORTED)
