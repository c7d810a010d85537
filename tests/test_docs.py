"""The examples of the documentation compile and import, and the README works word for word."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import wipe
from tests.workers import ROOT, running_worker

README = ROOT / "README.md"
TASKS = ROOT / "docs" / "tasks.md"
CANCELLING = ROOT / "docs" / "cancelling.md"
PAGES = [README, *sorted((ROOT / "docs").rglob("*.md"))]

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# (\w+)\.py\n")
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def blocks(page: Path, language: str) -> list[str]:
    return [text for found, text in _BLOCK.findall(page.read_text()) if found == language]


def modules(page: Path) -> dict[str, str]:
    """The files of a page: blocks that begin with the same name are one."""
    found: dict[str, str] = {}
    for block in blocks(page, "python"):
        if name := _FILE.match(block):
            found[name[1]] = f"{found.get(name[1], '')}{block}\n\n"
    return found


def write(page: Path, folder: Path) -> None:
    for name, text in modules(page).items():
        (folder / f"{name}.py").write_text(text)


def run(*command: str, folder: Path, **more: str) -> str:
    env = {name: value for name, value in os.environ.items() if not name.startswith("TENURE_")}
    done = subprocess.run(
        [sys.executable, "-W", "error", *command],
        cwd=folder,
        env={**env, **more},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_example_compiles(page: Path) -> None:
    for block in blocks(page, "python"):
        compile(block, str(page), "exec")


@pytest.mark.parametrize("page", [README, TASKS], ids=lambda page: page.stem)
def test_the_modules_can_be_imported(page: Path, tmp_path: Path) -> None:
    write(page, tmp_path)
    assert run("-c", "import jobs; print(len(jobs.app.tasks) > 0)", folder=tmp_path) == "True\n"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_examples_import_of_their_jobs_is_there(page: Path) -> None:
    jobs = modules(README if page == README else TASKS)["jobs"]
    defined = {
        *(node.name for node in ast.parse(jobs).body if hasattr(node, "name")),
        *(
            target.id
            for node in ast.parse(jobs).body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        ),
    }
    for block in blocks(page, "python"):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and node.module == "jobs":
                assert {name.name for name in node.names} <= defined


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in _LINK.findall(page.read_text()):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        place = (page.parent / path).resolve() if path else page
        assert place.exists(), link
        assert not anchor or anchor in _anchors(place), link


def _anchors(page: Path) -> set[str]:
    """The headings of a page, as links call them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_example_of_cancelling_runs(shared_database: str, tmp_path: Path) -> None:
    write(TASKS, tmp_path)
    wipe(shared_database)
    with running_worker(shared_database, tmp_path, app=f"{tmp_path / 'jobs.py'}:app"):
        for number, block in enumerate(blocks(CANCELLING, "python"), 1):
            (tmp_path / f"example_{number}.py").write_text(block)
            said = run(f"example_{number}.py", folder=tmp_path, TENURE_DATABASE_URL=shared_database)
            comments = re.findall(r"print\(.*\)  # (.*)", block)
            assert set(comments) <= set(said.splitlines()), f"example {number} says:\n{said}"


def test_the_readme_works_word_for_word(shared_database: str, tmp_path: Path) -> None:
    write(README, tmp_path)
    [shown] = [
        text for text in blocks(README, "console") if text.startswith("$ python try_it.py\n")
    ]
    wipe(shared_database)
    with running_worker(shared_database, tmp_path, app=f"{tmp_path / 'jobs.py'}:app") as worker:
        said = run("try_it.py", folder=tmp_path, TENURE_DATABASE_URL=shared_database)
        assert worker.drain() == 0
    assert said == shown.removeprefix("$ python try_it.py\n")
