"""Each command imports only what it needs: a user waits for every import."""

import subprocess
import sys
from typing import Any

import pytest

from tenure.cli.program import SENTENCES
from tests.cli.running import PROGRAM

_SERVERS = {"fastapi", "starlette", "uvicorn", "jinja2", "httpx", "opentelemetry", "uvloop"}
_SCRIPT = """
import contextlib, io, sys
from tenure.cli.main import app
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
    app(sys.argv[1:])
print(*sys.modules)
"""


def imported_by(*words: str) -> set[str]:
    program = [sys.executable, "-c", _SCRIPT, *words]
    done = subprocess.run(program, capture_output=True, text=True, check=True, timeout=60)
    return set(done.stdout.split())


def test_the_help_of_the_program_imports_neither_drivers_nor_commands() -> None:
    modules = imported_by("--help")
    assert "tenure.cli.help" in modules
    assert not modules & (_SERVERS | {"psycopg", "pydantic", "asyncio"})
    assert not modules & {f"tenure.cli.{name}" for name in SENTENCES}
    assert not {name for name in modules if name.startswith(("tenure.store.", "tenure.control."))}


def test_a_list_of_jobs_imports_no_other_command(database: str) -> None:
    modules = imported_by("job", "list", "--url", database)
    assert "psycopg" in modules
    assert not modules & (_SERVERS | {"pydantic"})
    assert {name for name in modules if name.startswith("tenure.cli.job.")} == {
        "tenure.cli.job.list"
    }
    assert not {name for name in modules if name.startswith(("tenure.web", "tenure.runtime.keep"))}


@pytest.mark.parametrize("name", SENTENCES)
def test_the_program_lists_each_command_with_its_own_sentence(name: str) -> None:
    program: Any = PROGRAM
    assert " ".join(program.commands[name].help.split("\n\n")[0].split()) == SENTENCES[name]
