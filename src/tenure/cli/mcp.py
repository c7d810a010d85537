"""``tenure mcp``: the tasks of an app as tools of the Model Context Protocol."""

from dataclasses import replace

from tenure.cli.connection import Connection, connected, load_app
from tenure.cli.options import argument, flag, option
from tenure.cli.serve import HOST
from tenure.errors import SettingInvalid

EXAMPLES = (
    "tenure mcp shop.jobs:app",
    "tenure mcp shop.jobs:app --operator",
    "tenure mcp shop.jobs:app --http --port 8322",
)
PORT = 8322


@connected
def mcp(
    to: Connection,
    app: str = argument("APP", "App whose tasks become tools: package.module:app."),
    operator: bool = flag("--operator", "Add tools to list, explain, inspect and stop jobs."),
    http: bool = flag("--http", "Serve streamable HTTP at /mcp; every request needs a token."),
    host: str = option("NAME", "Host to listen on.", default=HOST),
    port: int = option("PORT", "Port to listen on.", default=PORT, min=1, max=65_535),
) -> None:
    """Serve the tasks of an app as tools of the Model Context Protocol (MCP).

    By default it serves one client over standard input and output, which starts it. Cancelling a
    call cancels its job. Exit codes: 0 the client has left, or a signal; 1 an error; 3 the app
    cannot be imported.
    """
    _require_mcp()
    from tenure.contrib.mcp import create_server, serve_stdio

    loaded = load_app(app)
    to.use(loaded)
    to.client.tasks, to.client.schedules = loaded.tasks, loaded.schedules
    if http:
        _serve_http(to, operator, host, port)
        return
    principal = replace(to.principal, via="mcp")
    to.run(serve_stdio(create_server(to.client, principal, operator=operator)))


def _require_mcp() -> None:
    try:
        import mcp  # noqa: F401
    except ModuleNotFoundError as error:
        raise SettingInvalid(
            f"this command needs {error.name}, which is not installed: pip install 'tenure[mcp]'"
        ) from None


def _serve_http(to: Connection, operator: bool, host: str, port: int) -> None:
    from tenure.cli.serve import require_web

    require_web()
    from tenure.cli.server import Server, bound
    from tenure.contrib.mcp import create_server, http_app

    app = http_app(to.client, create_server(to.client, operator=operator), host=host)
    with bound(host, port) as made:
        to.run(Server(app, to.client.settings).serve(sockets=[made]))
