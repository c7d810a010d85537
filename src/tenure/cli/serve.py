"""``tenure serve``: the REST API."""

import logging
import traceback
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn

import typer

from tenure.cli.connecting import Json, Url
from tenure.cli.supervising import NOT_IMPORTED
from tenure.control.client import Client
from tenure.domain.principal import Role
from tenure.errors import (
    InputRefused,
    NotAllowed,
    SettingInvalid,
    StoreUnavailable,
    TenureError,
)
from tenure.observe.logs import configure
from tenure.runtime.artifact_store import check_artifacts

if TYPE_CHECKING:
    import socket

EXAMPLES = (
    "tenure serve",
    "tenure serve shop.jobs:app --port 9000",
    "tenure serve --host 0.0.0.0 --log-format json",
)

log = logging.getLogger("tenure.serve")

HOST, PORT = "127.0.0.1", 8321
_WEB = ("fastapi", "jinja2", "starlette", "uvicorn")  # what comes with the extra


def serve(
    app: Annotated[
        str | None,
        typer.Argument(
            metavar="APP",
            help="Where the app is, whose tasks are enqueued by their names: package.module:app.",
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(metavar="NAME", help=f"Where to listen; else {HOST}.")
    ] = HOST,
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help=f"Else {PORT}; 0: any.")
    ] = PORT,
    open_to: Annotated[
        Role | None,
        typer.Option(
            "--open",
            metavar="ROLE",
            help="What may be done without a token: what a viewer, operator or admin may.",
        ),
    ] = None,
    log_format: Annotated[
        Literal["text", "json"] | None,
        typer.Option(metavar="FORMAT", help="Of the log: text or json."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Yes, --open to the whole network.")] = False,
    url: Url = None,
    json: Json = False,
) -> None:
    """Serve the REST API until SIGTERM or Ctrl-C; every request needs a token.

    Exit codes: 0 it was asked to leave; 1 an error; 3 the app cannot be imported.
    """
    require_web()
    from tenure.cli.serving import bound, is_loopback

    if open_to is not None and not yes and not is_loopback(host):
        raise InputRefused(
            f"--open {open_to} on {host} lets everybody on the network do what "
            f"{'an' if open_to is not Role.VIEWER else 'a'} {open_to} may, without a token; "
            f"say --yes if that is meant, or listen on {HOST}"
        )
    client = _client(app, url)
    check_artifacts(client.settings.artifacts)
    configure(log_format or ("json" if json else client.settings.log_format))
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    with bound(host, port) as made:
        _serve(client, made, open_to, host)


def require_web() -> None:
    try:
        import uvicorn  # noqa: F401

        import tenure.web
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _WEB:
            raise
        raise SettingInvalid(
            f"the REST API needs {error.name}, which is not installed: pip install 'tenure[web]'"
        ) from None
    assert tenure.web


def _client(app: str | None, url: str | None) -> Client:
    if app is None:
        return Client(url)
    from tenure.runtime.runner.app_loader import load

    try:
        loaded = load(app)
    except TenureError as error:
        refuse_app(app, str(error))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a module does, it is told
        traceback.print_exc()
        refuse_app(app, f"{type(error).__name__}: {error}")
    client = Client(url or loaded.known_url, settings=loaded.settings)
    client.tasks, client.schedules = loaded.tasks, loaded.schedules
    return client


def refuse_app(app: str, why: str) -> NoReturn:
    typer.echo(f"tenure: {app} cannot be imported: {why}", err=True)
    raise typer.Exit(NOT_IMPORTED)


def _require_database(client: Client) -> None:
    """Refuse to serve from a database that cannot be used; one that is away may come back."""
    try:
        with client.store as store:
            store.server()
    except NotAllowed:
        return  # every request is answered with what this role may do
    except StoreUnavailable as error:
        if not error.may_pass:
            raise
        log.warning("%s; requests are refused until it can", error)


def _serve(client: Client, made: "socket.socket", open_to: Role | None, host: str) -> None:
    import uvloop

    from tenure.cli.serving import Server
    from tenure.web import create_app

    _require_database(client)

    async def serving() -> None:
        server = Server(create_app(client, open_to=open_to, hosts=[host]), client.settings)
        try:
            await server.serve(sockets=[made])
        finally:
            await client.aclose()

    uvloop.run(serving())
