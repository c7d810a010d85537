"""The page about Django: its project is made, checked, migrated and tested."""

import shlex
from pathlib import Path
from typing import Any

import django
import pytest

from tests.contrib.django.managing import Manager
from tests.docs.reading import blocks, code
from tests.docs.running import run
from tests.docs.test_deploy import parses
from tests.workers import ROOT

PAGE = ROOT / "docs" / "how-to" / "django.md"
BACKPORT = "from django.tasks import task  # Django 5.2: "
MODEL = """
from django.db import models


class Order(models.Model):
    name = models.CharField(max_length=100)
    state = models.CharField(max_length=20, default="new")
"""
URLS = """
from django.urls import path
from shop import views

urlpatterns = [path("order/", views.order)]
"""


@pytest.fixture
def project(databases: dict[str, Any], tmp_path: Path) -> Manager:
    """Follow the page in a new project."""
    run("-m", "django", "startproject", "config", ".", folder=tmp_path)
    run("manage.py", "startapp", "shop", folder=tmp_path)
    parts = {"settings.py": f"\nINSTALLED_APPS += ['shop']\nDATABASES = {databases!r}\n"}
    if django.VERSION < (6, 0):
        parts["settings.py"] += "INSTALLED_APPS += ['django_tasks']\n"
    for block in code(PAGE, "python"):
        name = block.partition("\n")[0].removeprefix("# ")
        parts[name] = parts.get(name, "") + block
    settings = tmp_path / "config" / "settings.py"
    settings.write_text(settings.read_text() + parts.pop("settings.py"))
    for name, text in {**parts, "shop/models.py": MODEL, "config/urls.py": URLS}.items():
        used = text.replace(BACKPORT, "") if django.VERSION < (6, 0) else text
        (tmp_path / name).write_text(used)
    manager = Manager({}, tmp_path, tmp_path)
    assert manager.run("makemigrations", "shop").returncode == 0
    return manager


def test_the_project_of_the_page_works(project: Manager) -> None:
    for words in (["check"], ["migrate", "--verbosity", "0"], ["test", "--noinput"]):
        done = project.run(*words)
        assert done.returncode == 0, done.stderr
    tests = sum(block.count("def test_") for block in code(PAGE, "python"))
    assert f"Ran {tests} tests" in done.stderr


def test_the_commands_of_the_page_exist() -> None:
    from tenure.contrib.django.management.commands.tenure import with_app

    consoles = "".join(block.text for block in blocks(PAGE) if block.language == "console")
    typed = [shlex.split(line) for line in consoles.splitlines()]
    passed_on = [words[4:] for words in typed if words[1:4] == ["python", "manage.py", "tenure"]]
    assert len(passed_on) == 6
    assert all(parses(with_app(words)) for words in passed_on)
