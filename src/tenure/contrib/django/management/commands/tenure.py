"""``manage.py tenure``: the command line of Tenure with the app and the database of the project."""

import os
import sys
from argparse import REMAINDER, ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import ENVIRONMENT_VARIABLE
from django.core.management.base import BaseCommand, CommandError, CommandParser

from tenure.cli.main import app as program
from tenure.errors import TenureError

APP = "tenure.contrib.django.project:app"
_NOT_RUN = ("list", "drain", "end-runner", "-h", "--help")  # after the word worker


class Command(BaseCommand):
    """Pass all words on; commands that take an app get the app of the project."""

    help = "Run a command of Tenure, such as: worker, up, migrate, job list, top."
    requires_system_checks: Sequence[str] = ()

    def run_from_argv(self, argv: Sequence[str]) -> None:
        """Leave all words to Tenure, except for options that Django has read already."""
        parser = ArgumentParser(add_help=False, allow_abbrev=False)
        parser.add_argument("--settings")
        parser.add_argument("--pythonpath")
        _, words = parser.parse_known_args(list(argv[2:]))
        try:
            self.handle(words=words)
        except CommandError as error:
            self.stderr.write(f"tenure: {error}")
            sys.exit(error.returncode)

    def add_arguments(self, parser: CommandParser) -> None:
        """Take words from ``call_command("tenure", "job", "list")``."""
        parser.add_argument("words", nargs=REMAINDER)

    def handle(self, *_: Any, words: Sequence[str], **__: Any) -> None:
        """Run the command; raise SystemExit with its exit code unless that is 0."""
        words = with_app(words)
        with _in_place_of_this(words, self._environment()):
            try:
                program(words)
            except SystemExit as end:
                if end.code:
                    raise

    def _environment(self) -> Mapping[str, str]:
        """Return the variables by which commands, and the processes they start, find the jobs."""
        try:
            from tenure.contrib.django.application import app

            url = app.known_url
        except TenureError as why:
            raise CommandError(str(why)) from None
        found = {"TENURE_APP": APP, "TENURE_FOLDER": str(app.settings.folder)}
        if url is not None:
            found["TENURE_DATABASE_URL"] = url
        if (root := _root()) != Path.cwd():
            paths = (str(root), os.environ.get("PYTHONPATH"))
            found["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
        return found


def with_app(words: Sequence[str]) -> list[str]:
    """Return the words with the app of the project, if the command takes an app."""
    match list(words):
        case ["worker", *rest] if rest[:1] == ["run"]:
            return ["worker", "run", APP, *rest[1:]]
        case ["worker", *rest] if not rest or rest[0] not in _NOT_RUN:
            return ["worker", "run", APP, *rest]
        case [("up" | "serve" | "mcp") as name, *rest]:
            return [name, APP, *rest]
        case ["task", "announce", *rest]:
            return ["task", "announce", APP, *rest]
        case as_they_are:
            return as_they_are


@contextmanager
def _in_place_of_this(words: Sequence[str], variables: Mapping[str, str]) -> Iterator[None]:
    """Look like ``tenure WORDS``, which ``--reload`` and other processes start again."""
    argv, environment = list(sys.argv), dict(os.environ)
    sys.argv[:] = ["tenure", *words]
    os.environ.update(variables)
    try:
        yield
    finally:
        sys.argv[:] = argv
        os.environ.clear()
        os.environ.update(environment)


def _root() -> Path:
    """Return the folder from which the settings of the project are imported."""
    name = os.environ.get(ENVIRONMENT_VARIABLE, "")
    file = getattr(sys.modules.get(name), "__file__", None)
    if file is None:
        return Path.cwd()
    path = Path(file).resolve()
    return path.parents[name.count(".") + (path.name == "__init__.py")]
