"""``tenure serve``: the REST API and the dashboard."""

import logging
from typing import TYPE_CHECKING

from tenure.cli.connection import load_app
from tenure.cli.options import Json, LogFormat, Port, Url, argument, flag, option
from tenure.control.client import Client
from tenure.domain.principal import Role
from tenure.errors import (
    InputRefused,
    NotAllowed,
    SettingInvalid,
    StoreUnavailable,
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
_WEB = ("fastapi", "jinja2", "starlette", "uvicorn")  # installed by the extra


def serve(
    app: str | None = argument(
        "APP", "App whose tasks can be enqueued by name: package.module:app.", None
    ),
    host: str = option("NAME", "Host to listen on.", default=HOST),
    port: Port = PORT,
    open_to: Role | None = option(
        "ROLE", "Rights of requests without a token: viewer, operator or admin.", "--open"
    ),
    log_format: LogFormat = None,
    yes: bool = flag("--yes", "Allow --open to the whole network."),
    url: Url = None,
    json: Json = False,
) -> None:
    """Serve the REST API until SIGTERM or Ctrl-C; every request needs a token.

    Exit codes: 0 after a signal; 1 an error; 3 the app cannot be imported.
    """
    require_web()
    from tenure.cli.server import bound, is_loopback

    if open_to is not None and not yes and not is_loopback(host):
        raise InputRefused(
            f"--open {open_to} on {host} gives everybody on the network the rights of "
            f"{'an' if open_to is not Role.VIEWER else 'a'} {open_to} without a token; "
            f"pass --yes to allow this, or listen on {HOST}"
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
    loaded = load_app(app)
    client = Client(url or loaded.known_url, settings=loaded.settings)
    client.tasks, client.schedules = loaded.tasks, loaded.schedules
    return client


def _require_database(client: Client) -> None:
    """Refuse a database that cannot be used; one that is unreachable may come back."""
    try:
        with client.store as store:
            store.server()
    except NotAllowed:
        return  # each request is answered by the rights of its own caller
    except StoreUnavailable as error:
        if not error.may_pass:
            raise
        log.warning("%s; requests are refused until it is reachable", error)


def _serve(client: Client, made: "socket.socket", open_to: Role | None, host: str) -> None:
    from tenure.cli.server import Server
    from tenure.runtime.platforms import run_in_loop
    from tenure.web import create_app

    _require_database(client)

    async def serving() -> None:
        server = Server(create_app(client, open_to=open_to, hosts=[host]), client.settings)
        try:
            await server.serve(sockets=[made])
        finally:
            await client.aclose()

    run_in_loop(serving())
