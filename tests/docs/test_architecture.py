"""The page of the architecture names files that exist, and the layers that are enforced."""

import pytest
from tools import architecture_page

from tests.workers import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text()


def test_every_file_it_names_exists() -> None:
    assert len(architecture_page.paths(PAGE)) > 60
    assert architecture_page.missing(PAGE) == []


@pytest.mark.parametrize("path", ["control/gone.py", "store/verbs/gone.sql", "gone/"])
def test_a_file_that_is_gone_is_noticed(path: str) -> None:
    assert architecture_page.missing(f"It is in `{path}`.") == [path]


def test_each_question_is_answered_with_two_files_at_most() -> None:
    table = PAGE.partition("## Where do I ...?")[2].partition("\n## ")[0]
    rows = [row for row in table.splitlines() if row.startswith("| ") and "question" not in row]
    assert len(rows) >= 10
    assert [row for row in rows if not 1 <= len(architecture_page.paths(row)) <= 2] == []


def test_each_path_names_every_file_of_its_steps_once() -> None:
    page = """
## Four paths

### From `a` to b

| step | file |
|---|---|
| `Handle` in `not/counted.py` asks | `x.py`, `y/z.sql` |
| and asks again | `x.py` |

## Where do I ...?

| question | `w.py` |
"""
    assert architecture_page.files_of_paths(page) == {"From a to b": ["x.py", "y/z.sql"]}
    assert len(architecture_page.files_of_paths(PAGE)) == 4
    assert all(len(files) > 5 for files in architecture_page.files_of_paths(PAGE).values())
