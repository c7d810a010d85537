"""The pytest plugin, in the project of a user, run by pytest in a process of its own."""

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from tenure.testing import Databases

APP = """
from tenure import Context, Tenure

app = Tenure()

@app.task
async def crawl(ctx: Context, site: str) -> int:
    for page in range(3):
        ctx.emit(page)
    return 3

def visit(site: str) -> None:
    crawl.enqueue(site)
"""

TESTS = """
import asyncio
import os
import threading
from pathlib import Path

import psycopg
import pytest

from shop import app, crawl, visit
from tenure import Context, Tenure

def note(sandbox):
    with psycopg.connect(sandbox.url) as connection:
        row = connection.execute(
            "SELECT current_setting('data_directory'), (SELECT count(*) FROM pg_database"
            " WHERE datname LIKE '%template' AND NOT datistemplate)").fetchone()
    with Path(os.environ["NOTES"]).open("a") as file:
        file.write(f"{os.getpid()} {row[0]} {row[1]}\\n")

@pytest.mark.parametrize("n", range(4))
def test_value(sandbox, n):
    note(sandbox)
    assert sandbox.enqueued() == []
    visit("a.org")
    sandbox.assert_enqueued(crawl, args=("a.org",), count=1)
    assert sandbox.run(crawl, "b.org").value == 3
    sandbox.drain()

def test_app_of_the_test(sandbox, capsys):
    other = Tenure()

    @other.task
    def shout(word: str) -> str:
        print(word)
        return word.upper()

    assert sandbox.run(shout, "hey").value == "HEY"
    assert capsys.readouterr().out == "hey\\n"

def test_async(sandbox):
    async def test():
        assert (await sandbox.arun(crawl, "a.org")).partials == [0, 1, 2]
    asyncio.run(test())
"""

FORGETFUL = """
from shop import visit

def test_without_the_fixture():
    visit("a.org")
"""


@dataclass
class Project:
    folder: Path
    temporary: Path

    def pytest(self, *arguments: str, fails: bool = False) -> str:
        env = {name: value for name, value in os.environ.items() if not name.startswith("TENURE_")}
        more = {
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "NOTES": str(self.folder / "notes"),
            "TMPDIR": str(self.temporary),
        }
        plugins = ["-p", "tenure.testing.plugin", "-p", "no:cacheprovider", "-W", "error"]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *plugins, *arguments],
            cwd=self.folder,
            env={**env, **more},
            capture_output=True,
            text=True,
            timeout=110,
        )
        assert done.returncode == (1 if fails else 0), done.stdout + done.stderr
        return done.stdout

    @property
    def notes(self) -> list[list[str]]:
        return [line.split() for line in (self.folder / "notes").read_text().splitlines()]

    @property
    def left_behind(self) -> list[str]:
        """The temporary files, without the folders that pytest itself keeps."""
        names = [path.name for path in self.temporary.iterdir()]
        return [name for name in names if not name.startswith("pytest-of-")]


@pytest.fixture
def project(tmp_path: Path, temporary: Path) -> Project:
    (tmp_path / "shop.py").write_text(APP)
    (tmp_path / "test_shop.py").write_text(TESTS)
    return Project(tmp_path, temporary)


def test_the_tests_of_a_user_pass_and_leave_no_server_and_no_folder(project: Project) -> None:
    assert "6 passed" in project.pytest()
    assert len({data for _, data, _ in project.notes}) == 1
    assert project.left_behind == []
    assert not (project.folder / ".tenure").exists()


def test_the_workers_of_xdist_share_one_server_and_one_template(project: Project) -> None:
    assert "6 passed" in project.pytest("-p", "xdist", "-n", "2")
    assert len({pid for pid, _, _ in project.notes}) == 2
    assert {templates for _, _, templates in project.notes} == {"1"}
    assert len({data for _, data, _ in project.notes}) == 1
    assert project.left_behind == []


@pytest.mark.parametrize("workers", [0, 2])
def test_a_server_of_the_user_is_used_and_left_clean(
    project: Project, server: str, workers: int
) -> None:
    (project.folder / "pytest.ini").write_text(f"[pytest]\ntenure_database_url = {server}\n")
    parallel = ["-p", "xdist", "-n", str(workers)] if workers else []
    names = "SELECT datname FROM pg_database WHERE datname LIKE 'tenure_test_%'"
    with psycopg.connect(server, autocommit=True) as connection:
        before = connection.execute(names).fetchall()
        assert "6 passed" in project.pytest(*parallel)
        assert connection.execute(names).fetchall() == before
        row = connection.execute("SELECT current_setting('data_directory')").fetchone()
    assert row is not None
    assert {data for _, data, _ in project.notes} == {row[0]}


def test_databases_of_a_killed_run_are_dropped_by_the_next_and_those_of_a_live_one_are_not(
    server: str,
) -> None:
    names = "SELECT datname FROM pg_database WHERE datname LIKE 'tenure_test_%'"
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, server], capture_output=True, text=True, timeout=60
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    prefix = killed.stdout.strip()
    with psycopg.connect(server, autocommit=True) as connection:

        def there() -> set[str]:
            return {name for (name,) in connection.execute(names).fetchall()}

        left = {name for name in there() if name.startswith(prefix)}
        assert len(left) == 2, "the template, and a database"
        before = there()  # those of other tests are there as well
        with Databases(server) as live, live.database():
            mine = there() - before
            assert left.isdisjoint(there())
            with Databases(server):
                assert mine <= there()
        assert mine.isdisjoint(there())


KILLED = """
import os, sys
from urllib.parse import urlsplit
from tenure.testing import Databases

with Databases(sys.argv[1]) as databases, databases.database() as url:
    print(urlsplit(url).path[1:][:20], flush=True)
    os.kill(os.getpid(), 9)
"""


def test_a_test_without_the_fixture_does_not_touch_the_database_of_the_developer(
    project: Project,
) -> None:
    (project.folder / "test_shop.py").write_text(FORGETFUL)
    output = project.pytest(fails=True)
    assert "take the fixture as a parameter of the test" in output
    assert not (project.folder / ".tenure").exists()


def test_no_database_is_dropped_that_no_test_run_has_made(server: str) -> None:
    others = {"tenure_test_20261119_dump", "shop", "shop_live", "shopping"}
    there = "SELECT datname FROM pg_database WHERE datname ~ '^(shop|tenure_test_20261119)'"
    with psycopg.connect(server, autocommit=True) as connection:
        try:
            for name in others:
                connection.execute(f"CREATE DATABASE {name}".encode())
            with Databases(server, prefix="shop") as databases:
                with databases.database():
                    assert len(connection.execute(there).fetchall()) == len(others) + 2
                databases.drop_all()
            assert {name for (name,) in connection.execute(there).fetchall()} == others
        finally:
            for name in others:
                connection.execute(f"DROP DATABASE IF EXISTS {name}".encode())


@pytest.mark.parametrize("form", ["postgresql:///tenure?{}", "postgresql:///?{}&dbname=tenure"])
def test_any_form_of_the_url_of_a_server_leads_to_a_database_of_its_own(
    server: str, form: str
) -> None:
    place = {**conninfo_to_dict(server)}
    del place["dbname"]
    with (
        Databases(form.format(urlencode(place))) as databases,
        databases.database() as url,
        psycopg.connect(url) as connection,
    ):
        assert connection.info.dbname.startswith("tenure_test_")


def test_a_server_that_is_away_does_not_fail_tests_that_do_not_use_it(project: Project) -> None:
    (project.folder / "test_shop.py").write_text("def test_nothing(): ...\n")
    url = "--tenure-database-url=postgresql://127.0.0.1:9/none"
    assert "1 passed" in project.pytest("-p", "xdist", "-n", "1", url)
