"""``tenure up``: database, worker and API together, under one small supervisor."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from tenure.cli.connecting import Json, Url
from tenure.cli.lines import Lines
from tenure.cli.local_token import local_token
from tenure.cli.printing import Printer
from tenure.cli.serve import HOST, PORT, refuse_app, require_web
from tenure.cli.supervising import Child, Database, Supervisor
from tenure.config import Settings
from tenure.control.client import Client
from tenure.control.tokens import make_login_code
from tenure.domain.duration import in_words
from tenure.errors import SettingInvalid
from tenure.store.embedded import Embedded

EXAMPLES = ("tenure up shop.jobs:app", "tenure up jobs.py --port 9000", "tenure up")

_AT_WORK = {"worker": " runs ", "api": "serving on "}  # what they say when they are
_STYLES = {"worker": "cyan", "api": "magenta", "up": "dim"}


def up(
    app: Annotated[
        str | None,
        typer.Argument(
            metavar="APP",
            help="Where the app is: package.module:app or file.py:app. Without it no worker runs.",
        ),
    ] = None,
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help=f"Of the API; else {PORT}; 0: any.")
    ] = PORT,
    folder: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Of database, token and artifacts; else .tenure."),
    ] = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Start a database, a worker and the REST API together; Ctrl-C drains, a second one hurries.

    The database is an embedded PostgreSQL, unless a URL is given. What dies is started again.

    Exit codes: those of a worker; 0 all that ran was finished, 1 an error, 3 the app cannot be
    imported, 4 what was not finished in time was handed over, 5 likewise after a second signal.
    """
    require_web()
    from tenure.cli.serving import bound, url_of
    from tenure.runtime.runner.app_loader import require_module

    if folder is not None:
        os.environ["TENURE_FOLDER"] = str(folder)
    settings = Settings.from_environment(os.environ)
    if app is not None:
        try:
            require_module(app)
        except SettingInvalid as error:
            refuse_app(app, str(error))
    place, show = settings.folder.absolute(), Printer(json=json)
    with bound(HOST, port) as made:  # so that a port that is taken is told before anything starts
        address = url_of(made)
    with Client(url or None, settings=settings) as client:
        if not json and client.known_url is None:
            show.say(f"Starting the database in {_short(place)} ...", style="dim")
        client.migrate()
        token = local_token(client, place)
        link = f"{address}/login#code={make_login_code(client, token.read_text().strip())}"
        _tell(show, client, app, address, link, token, folder is not None)
        environment = {
            **os.environ,
            "TENURE_DATABASE_URL": client.url,
            "TENURE_FOLDER": str(place),
            "PYTHONUNBUFFERED": "1",
        }
        code = asyncio.run(_run(show, app, address, environment, settings, client.embedded))
    sys.exit(code)


async def _run(
    show: Printer,
    app: str | None,
    address: str,
    environment: dict[str, str],
    settings: Settings,
    embedded: Embedded | None,
) -> int:
    lines = Lines(show, _STYLES)
    at = ["--host", HOST, "--port", address.rpartition(":")[2]]
    words = {"api": ["serve", *([app] if app else []), *at]}
    if app:
        words = {"worker": ["worker", "run", app], **words}
    children = [
        Child(name, said, environment, lines.say, _AT_WORK[name]) for name, said in words.items()
    ]

    def leaving(times: int) -> None:
        match times:
            case 1 if app:
                most = in_words(settings.drain_grace)
                lines.say("up", f"leaving: what runs may finish, for {most}; Ctrl-C again hurries")
            case 1:
                lines.say("up", "leaving")
            case 2:
                lines.say("up", "hurrying: what runs is stopped and handed over")
            case _:
                lines.say("up", "killing")

    supervisor = Supervisor(children, leaving)
    loop = asyncio.get_running_loop()
    lines.on_broken = lambda: loop.call_soon_threadsafe(supervisor.ask)
    database = None if embedded is None else Database(embedded, lines.say)
    keeping = None if database is None else asyncio.create_task(database.keep())
    try:
        code = await supervisor.run()
        lines.say("up", _ended(code))
    finally:
        if keeping is not None:
            keeping.cancel()
        lines.close()
    return code


def _ended(code: int) -> str:
    return {
        0: "everything has ended; nothing was left undone",
        3: "the app cannot be imported",
        4: "what was not finished in time was handed over, and goes on with the next worker",
        5: "what was not finished was handed over, and goes on with the next worker",
    }.get(code, f"ended with code {code}")


def _tell(
    show: Printer,
    client: Client,
    app: str | None,
    address: str,
    link: str,
    token: Path,
    named: bool,
) -> None:
    """What is where, and how to go on."""
    embedded = client.known_url is None
    if show.json:
        place = str(token.parent) if embedded else None
        told = {"api": address, "page": address, "login": link, "token": str(token)}
        show.line({"from": "up", **told, "folder": place, "app": app})
        return
    rows = {
        "database": f"PostgreSQL in {_short(token.parent)}" if embedded else "your PostgreSQL",
        "page": f"{address}   (the link below logs you in once, within an hour)",
        "API": f"{address}/api   (described at {address}/openapi.json)",
        "token": f"{_short(token)}   ({'commands find it' if embedded else 'for the API'})",
        "worker": app or "none runs; to have one, name your app: tenure up shop.jobs:app",
        "": "",
        "enqueue": "tenure job enqueue TASK NAME=VALUE",
        "cancel": "tenure job cancel ID --reason TEXT",
        "look": "tenure top",
        "stop": "Ctrl-C here",
        " ": "",
        "log in": link,
    }
    if embedded and named:
        rows["from other"] = f"shells: export TENURE_FOLDER={token.parent}"
    show.say()
    for name, said in rows.items():
        show.say(Text(f"  {name:<10}", "bold"), said)
    show.say()


def _short(path: Path) -> str:
    """From here, if it is below here."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
