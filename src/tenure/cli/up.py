"""``tenure up``: a database, a worker and the API under one supervisor."""

import asyncio
import os
import sys
from pathlib import Path

from rich.text import Text

from tenure.cli.connection import refuse_app
from tenure.cli.local_token import local_token
from tenure.cli.log_lines import LogLines
from tenure.cli.options import Json, Port, Url, argument, option
from tenure.cli.output import Printer
from tenure.cli.serve import HOST, PORT, require_web
from tenure.cli.supervisor import Child, DatabaseKeeper, Supervisor
from tenure.config import Settings
from tenure.control.client import Client
from tenure.control.tokens import make_login_code
from tenure.domain.duration import in_words
from tenure.errors import SettingInvalid
from tenure.store.embedded import Embedded

EXAMPLES = ("tenure up shop.jobs:app", "tenure up jobs.py --port 9000", "tenure up")

_READY = {"worker": " runs ", "api": "serving on "}  # in the line that they log when ready
_STYLES = {"worker": "cyan", "api": "magenta", "up": "dim"}


def up(
    app: str | None = argument(
        "APP", "The app: package.module:app or file.py:app. Without it, no worker runs.", None
    ),
    port: Port = PORT,
    folder: Path | None = option(
        "PATH", "Folder of database, token and artifacts (default: .tenure)."
    ),
    url: Url = None,
    json: Json = False,
) -> None:
    """Start a database, a worker and the REST API together, until SIGTERM or Ctrl-C.

    The database is an embedded PostgreSQL, unless a URL is given. Processes that die are restarted.
    The first Ctrl-C lets running jobs finish; the second stops them.

    Exit codes: 0 all running jobs finished; 1 an error; 3 the app cannot be imported; 4 jobs that
    did not finish within drain_grace were handed over; 5 the same, after a second signal.
    """
    require_web()
    from tenure.cli.server import bound, url_of
    from tenure.runtime.runner.app_loader import require_module

    if folder is not None:
        os.environ["TENURE_FOLDER"] = str(folder)
    settings = Settings.from_environment(os.environ)
    if app is not None:
        try:
            require_module(app)
        except SettingInvalid as error:
            refuse_app(app, str(error))
    place, out = settings.folder.absolute(), Printer(json=json)
    with bound(HOST, port) as made:  # refuse a taken port before anything starts
        address = url_of(made)
    with Client(url or None, settings=settings) as client:
        if not json and client.known_url is None:
            out.print(f"Starting the database in {_short(place)} ...", style="dim")
        client.migrate()
        token = local_token(client, place)
        link = f"{address}/login#code={make_login_code(client, token.read_text().strip())}"
        _print_summary(out, client, app, address, link, token, folder is not None)
        environment = {
            **os.environ,
            "TENURE_DATABASE_URL": client.url,
            "TENURE_FOLDER": str(place),
            "PYTHONUNBUFFERED": "1",
        }
        code = asyncio.run(_run(out, app, address, environment, settings, client.embedded))
    sys.exit(code)


async def _run(
    out: Printer,
    app: str | None,
    address: str,
    environment: dict[str, str],
    settings: Settings,
    embedded: Embedded | None,
) -> int:
    lines = LogLines(out, _STYLES)
    at = ["--host", HOST, "--port", address.rpartition(":")[2]]
    words = {"api": ["serve", *([app] if app else []), *at]}
    if app:
        words = {"worker": ["worker", "run", app], **words}
    children = [
        Child(name, command, environment, lines.add, _READY[name])
        for name, command in words.items()
    ]

    def leaving(times: int) -> None:
        match times:
            case 1 if app:
                grace = in_words(settings.drain_grace)
                lines.add(
                    "up",
                    f"exiting: jobs may finish within {grace}; Ctrl-C again stops them",
                )
            case 1:
                lines.add("up", "exiting")
            case 2:
                lines.add("up", "hurrying: running jobs are stopped and handed over")
            case _:
                lines.add("up", "killing")

    supervisor = Supervisor(children, leaving)
    loop = asyncio.get_running_loop()
    lines.on_broken = lambda: loop.call_soon_threadsafe(supervisor.ask)
    database = None if embedded is None else DatabaseKeeper(embedded, lines.add)
    keeping = None if database is None else asyncio.create_task(database.keep())
    try:
        code = await supervisor.run()
        lines.add("up", _ended(code))
    finally:
        if keeping is not None:
            keeping.cancel()
        lines.close()
    return code


def _ended(code: int) -> str:
    return {
        0: "all processes have exited; all running jobs finished",
        3: "the app cannot be imported",
        4: "jobs that did not finish in time were handed over to the next worker",
        5: "unfinished jobs were handed over to the next worker",
    }.get(code, f"ended with code {code}")


def _print_summary(
    out: Printer,
    client: Client,
    app: str | None,
    address: str,
    link: str,
    token: Path,
    named: bool,
) -> None:
    """Print addresses, and the commands to try next."""
    embedded = client.known_url is None
    if out.json:
        place = str(token.parent) if embedded else None
        addresses = {"api": address, "dashboard": address, "login": link, "token": str(token)}
        out.json_line({"from": "up", **addresses, "folder": place, "app": app})
        return
    rows = {
        "database": f"PostgreSQL in {_short(token.parent)}" if embedded else "your PostgreSQL",
        "dashboard": f"{address}   (log in with the link below, once and within an hour)",
        "API": f"{address}/api   (described at {address}/openapi.json)",
        "token": f"{_short(token)}   ({'found by commands' if embedded else 'for the API'})",
        "worker": app or "none; to run one, name your app: tenure up shop.jobs:app",
        "": "",
        "enqueue": "tenure job enqueue TASK NAME=VALUE",
        "cancel": "tenure job cancel ID --reason TEXT",
        "watch": "tenure top",
        "stop": "Ctrl-C here",
        " ": "",
        "log in": link,
    }
    if embedded and named:
        rows["elsewhere"] = f"export TENURE_FOLDER={token.parent}"
    out.print()
    for name, text in rows.items():
        out.print(Text(f"  {name:<10}", "bold"), text)
    out.print()


def _short(path: Path) -> str:
    """Return the path relative to the current folder, if it is below that."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
