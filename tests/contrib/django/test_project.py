"""A project of Django, as its developers use it: its tests, its commands, its settings."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from tests.contrib.django.managing import PROJECT, Manager
from tests.workers import eventually


def test_the_tests_of_the_project_pass(manage: Manager) -> None:
    done = manage.run("test", "shop", "--noinput")
    assert done.returncode == 0, done.stderr
    files = sorted((PROJECT / "shop" / "tests").glob("test_*.py"))
    tests = sum(file.read_text().count("def test_") for file in files)
    assert f"Ran {tests} tests" in done.stderr


def test_migrate_makes_the_schema_and_commands_find_it(
    manage: Manager, empty_database: str
) -> None:
    done = manage.run("migrate", "--verbosity", "0")
    assert (done.returncode, done.stderr) == (0, "")
    assert "up to date" in manage.run("tenure", "migrate", "--check").stdout
    done = manage.run("shell", "-c", "from shop.tasks import note; print(note.enqueue('a').id)")
    assert done.returncode == 0, done.stderr
    number = done.stdout.split()[-1]
    listed = manage.run("tenure", "job", "list", "--json")
    assert [job["id"] for job in json.loads(listed.stdout)] == [int(number)], listed
    refused = manage.run("tenure", "job", "show", "999")
    assert (refused.returncode, refused.stdout) == (10, "")
    assert "there is no job 999" in refused.stderr
    assert "Traceback" not in refused.stderr


SQLITE = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "shop.sqlite3"}}


def test_a_database_of_another_kind_is_found_by_the_check(manage: Manager) -> None:
    manage.databases = SQLITE
    for words in (["check"], ["tenure", "job", "list"]):
        done = manage.run(*words)
        assert done.returncode == 1
        assert "the database 'default' is SQLite, and jobs need PostgreSQL" in done.stderr
        assert "Traceback" not in done.stderr


def test_without_settings_there_is_a_sentence(tmp_path: Path) -> None:
    for program in (
        "from tenure.contrib.django import app; app.url",
        "import tenure.contrib.django.project",
    ):
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            env={name: it for name, it in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert "tenure.errors.SettingInvalid: Django " in done.stderr, done.stderr
        assert "DJANGO_SETTINGS_MODULE" in done.stderr


OTHER_DATABASE = """
from contextlib import suppress
from django.db import transaction
from shop.framework import Missing
from shop.tasks import note, ship
from tenure.contrib.django import app

assert app.is_separate
with transaction.atomic():
    result = ship.enqueue(1)
    with suppress(Missing):
        result.refresh()
        raise AssertionError("it was enqueued before the commit")
    assert len(result.id) == 36
result.refresh()
assert result.args == [1] and ship.get_result(result.id).id == result.id
with suppress(ZeroDivisionError), transaction.atomic():
    lost = ship.enqueue(2)
    1 / 0
with suppress(Missing):
    lost.refresh()
    raise AssertionError("it was enqueued after a rollback")
assert len(ship.enqueue(3).id) < 10
print(len(app.store.list_jobs()), "jobs")
"""


def test_jobs_in_another_database_are_enqueued_after_the_commit(
    manage: Manager, database: str
) -> None:
    manage.databases = {"default": SQLITE["default"]}
    tenure = {"database": None, "database_url": database}
    assert manage.run("migrate", "--verbosity", "0", SHOP_TENURE=tenure).returncode == 0
    done = manage.run("shell", "-v", "0", "-c", OTHER_DATABASE, SHOP_TENURE=tenure)
    assert done.returncode == 0, done.stderr
    assert "2 jobs" in done.stdout


TWO_DATABASES = """
from contextlib import suppress
from django.db import transaction
from shop.tasks import note
from tenure.contrib.django import app

with suppress(ZeroDivisionError), transaction.atomic(using="jobs"):
    note.enqueue("a")
    1 / 0
with transaction.atomic(using="jobs"):
    note.enqueue("b")
with suppress(ZeroDivisionError), transaction.atomic():
    note.enqueue("c")
    1 / 0
print([app.store.show(job.id).args["text"] for job in app.store.list_jobs()])
"""


def test_jobs_follow_the_transactions_of_their_own_database(manage: Manager) -> None:
    manage.databases = {"default": SQLITE["default"], "jobs": manage.databases["default"]}
    tenure = {"database": "jobs"}
    for database in ("default", "jobs"):
        done = manage.run("migrate", "--database", database, "--verbosity", "0", SHOP_TENURE=tenure)
        assert done.returncode == 0, done.stderr
    done = manage.run("shell", "-v", "0", "-c", TWO_DATABASES, SHOP_TENURE=tenure)
    assert done.returncode == 0, done.stderr
    assert "['c', 'b']" in done.stdout


def test_a_worker_starts_again_when_the_code_changes(manage: Manager, tmp_path: Path) -> None:
    project = tmp_path / "copy"
    shutil.copytree(PROJECT, project, ignore=shutil.ignore_patterns("__pycache__"))
    there = Manager(manage.databases, project, project)
    assert there.run("migrate", "--verbosity", "0").returncode == 0
    log = tmp_path / "log"
    with log.open("wb") as output:
        worker = subprocess.Popen(
            [*there.command, "tenure", "worker", "--reload"],
            cwd=project,
            env={**there.variables(), "TENURE_RUNNER_START": "spawn"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        eventually(lambda: " runs " in log.read_text(), log.read_text)
        tasks = project / "shop" / "tasks.py"
        tasks.write_text(tasks.read_text().replace("return text", "return text.upper()"))
        eventually(lambda: log.read_text().count(" runs ") == 2, log.read_text)
        asked = "from shop.tasks import note; print(note.enqueue('new').result('45s'))"
        assert there.run("shell", "-v", "0", "-c", asked).stdout.strip() == "NEW"
        assert "shop/tasks.py changed" in log.read_text()
    finally:
        worker.send_signal(signal.SIGTERM)
        worker.wait(45)
