"""The examples of the documentation compile, find what they import, and run."""

import ast
import re
from pathlib import Path

import pytest

from tests.conftest import wipe
from tests.docs.reading import CANCELLING, PAGES, README, TASKS, TUTORIAL, code, modules, write
from tests.docs.running import run
from tests.workers import ROOT, running_worker


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_example_compiles(page: Path) -> None:
    for block in code(page, "python"):
        compile(block, str(page), "exec")


@pytest.mark.parametrize("page", [README, TUTORIAL, TASKS], ids=lambda page: page.stem)
def test_the_modules_can_be_imported(page: Path, tmp_path: Path) -> None:
    write(page, tmp_path)
    assert run("-c", "import jobs; print(len(jobs.app.tasks) > 0)", folder=tmp_path) == "True\n"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_examples_import_of_their_jobs_is_there(page: Path) -> None:
    jobs = modules(page if page in (README, TUTORIAL) else TASKS)["jobs"]
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
    for block in code(page, "python"):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and node.module == "jobs":
                assert {name.name for name in node.names} <= defined


def test_every_example_of_cancelling_runs(shared_database: str, tmp_path: Path) -> None:
    write(TASKS, tmp_path)
    wipe(shared_database)
    with running_worker(shared_database, tmp_path, app=f"{tmp_path / 'jobs.py'}:app"):
        for number, block in enumerate(code(CANCELLING, "python"), 1):
            (tmp_path / f"example_{number}.py").write_text(block)
            said = run(f"example_{number}.py", folder=tmp_path, TENURE_DATABASE_URL=shared_database)
            comments = re.findall(r"print\(.*\)  # (.*)", block)
            assert set(comments) <= set(said.splitlines()), f"example {number} says:\n{said}"


def test_every_task_of_a_guide_can_be_declared(tmp_path: Path) -> None:
    write(TASKS, tmp_path)
    names = []
    for page in sorted((ROOT / "docs" / "how-to").glob("*.md")):
        for number, block in enumerate(code(page, "python")):
            if "@app.task" in block and "tenure.contrib.django" not in block:
                names.append(f"{page.stem.replace('-', '_')}_{number}")
                (tmp_path / f"{names[-1]}.py").write_text(block)
    assert len(names) >= 4
    said = run("-c", f"import jobs, {', '.join(names)}; print('declared')", folder=tmp_path)
    assert said == "declared\n"
