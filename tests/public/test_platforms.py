"""Clients where workers do not run: macOS and Windows, with what they lack hidden."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tenure
from tests.workers import ROOT

CLIENT = """
import asyncio, os
from tenure import Context, Tenure
import tenure.auth, tenure.errors, tenure.metrics, tenure.resources, tenure.stops, tenure.verbs
from tenure.web import create_app

app = Tenure(os.environ["URL"])

@app.task
async def crawl(ctx: Context, site: str) -> int:
    return 1

create_app(app)
handle = crawl.enqueue("a.org")
print(handle.status())
handle.cancel("enough")
print(handle.status())

async def main() -> None:
    handle = await crawl.aenqueue("b.org")
    print(await handle.astatus())
    await app.aclose()

asyncio.run(main())
app.close()
"""

COMMAND = """
import sys
from tenure.cli.main import run
run()
"""

WORKER = """
import asyncio
from tenure import Tenure

app = Tenure("postgresql://nowhere/")

async def main() -> None:
    async with app.worker():
        pass

asyncio.run(main())
"""

EMBEDDED = """
from tenure import Tenure
Tenure().store
"""


def run(platform: str, folder: Path, code: str, *arguments: str, **env: str) -> tuple[int, str]:
    (folder / "program.py").write_text(code)
    # The package that is tested may be a changed copy, which comes first.
    places = [str(Path(tenure.__file__).parent.parent), str(ROOT)]
    done = subprocess.run(
        [sys.executable, "-m", "tests.public.portable", platform, "program.py", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(places), **env},
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.returncode, done.stdout + done.stderr


SYSTEMS = pytest.mark.parametrize("platform", ["darwin", "win32"])


@SYSTEMS
def test_a_client_enqueues_reads_and_stops(tmp_path: Path, database: str, platform: str) -> None:
    assert run(platform, tmp_path, CLIENT, URL=database) == (0, "queued\ncancelled\nqueued\n")


@SYSTEMS
def test_the_command_line_reads_jobs(tmp_path: Path, database: str, platform: str) -> None:
    code, output = run(platform, tmp_path, COMMAND, "job", "list", "--url", database)
    assert (code, output.splitlines()[0]) == (0, "no jobs")
    code, output = run(platform, tmp_path, COMMAND, "--help")
    assert code == 0
    assert "Start a database" in output


@SYSTEMS
def test_a_worker_refuses_in_a_sentence(tmp_path: Path, platform: str) -> None:
    sentence = f"a worker needs Linux, and this is {platform}"
    hint = "for development, set TENURE_PORTABLE=1"
    code, output = run(platform, tmp_path, COMMAND, "worker", "program.py:app")
    assert (code, output.count("\n")) == (1, 1), output
    assert sentence in output
    assert (hint in output) is (platform == "darwin")
    code, output = run(platform, tmp_path, WORKER)
    assert sentence in output


@pytest.mark.parametrize("command", ["up", "top"])
def test_a_command_that_windows_cannot_run_says_so(tmp_path: Path, command: str) -> None:
    code, output = run("win32", tmp_path, COMMAND, command)
    assert (code, output.count("\n")) == (1, 1), output
    assert f"tenure {command} needs Linux or macOS" in output


def test_without_a_url_windows_has_no_database(tmp_path: Path) -> None:
    code, output = run("win32", tmp_path, EMBEDDED)
    assert code == 1
    assert "there is no embedded PostgreSQL on win32; name yours" in output
    assert not (tmp_path / ".tenure").exists()
