"""A database that cannot be used: every command says why at once, in one sentence."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from tests.cli.running import Cli, piped, process
from tests.unreachable import CAUSES, refusing
from tests.workers import ROOT

APP = (
    "from tenure import Tenure\n\napp = Tenure()\n\n\n@app.task\ndef work() -> int:\n    return 1\n"
)
COMMANDS = {
    "job list": ["job", "list"],
    "job enqueue": ["job", "enqueue", "work"],
    "stats": ["stats", "--json"],
    "migrate": ["migrate"],
    "migrate --check": ["migrate", "--check"],
    "token create": ["token", "create", "ada"],
    "tenant create": ["tenant", "create", "acme"],
    "top": ["top", "--once"],
}
PATIENT = {"TENURE_CONNECT_TIMEOUT": "10m"}  # a command that waited would be too late
LASTING = ["wrong password", "unknown host", "malformed"]  # a worker does not wait for them


@pytest.fixture(scope="module")
def urls(server: str) -> Iterator[dict[str, str]]:
    with refusing(server) as urls:
        yield urls


@pytest.fixture
def app(tmp_path: Path) -> str:
    (tmp_path / "unreachable_app.py").write_text(APP)
    return str(tmp_path / "unreachable_app.py")


@pytest.mark.parametrize("cause", CAUSES)
def test_a_command_names_the_cause_at_once(urls: dict[str, str], cause: str) -> None:
    for name, words in COMMANDS.items():
        done = Cli(urls[cause], **PATIENT)(*words)
        json_wanted = "--json" in words
        sentence = done.refusal(13)[1] if json_wanted else done.sentence(13)
        assert CAUSES[cause] in sentence, (name, done)
        assert "-4711" not in done.out + done.err, name


def test_the_doctor_finds_the_cause(urls: dict[str, str]) -> None:
    for cause, sentence in CAUSES.items():
        done = Cli(urls[cause], **PATIENT)("doctor")
        assert done.code == 13
        assert sentence in done.out
        assert done.err == ""
        assert "-4711" not in done.out


@pytest.mark.parametrize("cause", LASTING)
@pytest.mark.parametrize("word", ["worker", "serve", "up"])
def test_nothing_is_started_where_waiting_does_not_help(
    urls: dict[str, str], cause: str, word: str, app: str, tmp_path: Path
) -> None:
    more = [app] if word == "worker" else ["--port", "0"]
    folder = {"TENURE_FOLDER": str(tmp_path / "folder")}
    done = process(urls[cause], word, *more, **folder, **PATIENT)
    assert CAUSES[cause] in done.last_sentence(13)
    assert "-4711" not in done.out + done.err


def test_a_worker_names_the_cause_once_and_waits_for_a_database_that_may_come_back(
    urls: dict[str, str], app: str
) -> None:
    cause = "nothing listens"
    with piped(urls[cause], "worker", app, **PATIENT) as running:
        running.shows(f"{CAUSES[cause]}")
        running.process.send_signal(signal.SIGTERM)
        assert running.ends() == 0
    assert running.text.count(CAUSES[cause]) == 1
    assert "-4711" not in running.text


def test_a_server_names_the_cause_and_waits_for_a_database_that_may_come_back(
    urls: dict[str, str],
) -> None:
    cause = "nothing listens"
    with piped(urls[cause], "serve", "--port", "0", **PATIENT) as running:
        running.shows(CAUSES[cause])
        running.shows("serving on ")
        running.process.send_signal(signal.SIGTERM)
        assert running.ends() == 0


@pytest.mark.parametrize(
    "words",
    [["job", "list"], ["worker"], ["serve", "--port", "0"], ["doctor"]],
    ids=lambda words: words[0],
)
def test_a_database_without_the_schema_says_what_to_run(
    empty_database: str, words: list[str], app: str
) -> None:
    done = process(empty_database, *words, *([app] if words == ["worker"] else []))
    assert done.code == 13
    assert "run: tenure migrate" in done.out + done.err
    assert "Traceback" not in done.err


@pytest.mark.fresh_database
@pytest.mark.parametrize(
    "words",
    [
        *(["job", "list"], ["worker"], ["serve", "--port", "0"], ["doctor"]),
        *(["up", "--port", "0"], ["migrate"]),
    ],
    ids=" ".join,
)
def test_a_database_that_is_newer_than_the_program_is_refused(
    database: str, sql: psycopg.Connection, words: list[str], app: str, tmp_path: Path
) -> None:
    sql.execute("INSERT INTO tenure.migration VALUES ('default', 9999, 'from the future')")
    more = [app] if words == ["worker"] else []
    done = process(database, *words, *more, TENURE_FOLDER=str(tmp_path / "folder"))
    assert done.code == 13
    assert "migration 9999" in done.out + done.err
    assert "upgrade Tenure" in done.out + done.err
    assert "Traceback" not in done.err


BESIDE = """
import asyncio, sys
from tests.apps.jobs import app

async def main():
    async with app.worker():
        print("at work", flush=True)
        await asyncio.to_thread(sys.stdin.readline)

asyncio.run(main())
"""


def test_the_arguments_of_a_worker_beside_a_program_hold_no_password(
    database: str, tmp_path: Path
) -> None:
    url = database.replace("postgres@", "postgres:Geheim-4711@")
    env = {**os.environ, "TENURE_DATABASE_URL": url, "TENURE_FOLDER": str(tmp_path)}
    program = subprocess.Popen(
        [sys.executable, "-c", BESIDE],
        cwd=ROOT,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert program.stdin is not None
        assert program.stdout is not None
        assert program.stdout.readline() == "at work\n"
        family = psutil.Process(program.pid).children(recursive=True)
        assert family
        assert "Geheim" not in json.dumps([it.cmdline() for it in family])
        program.stdin.write("\n")
        program.stdin.flush()
        assert program.wait(60) == 0
    finally:
        program.kill()
        program.communicate()
