"""``--help`` of every command, as somebody found it good; no command is forgotten."""

from typing import Any

import pytest

from tests.cli.running import GOLDEN, PROGRAM, Cli, golden

_NOWHERE = Cli("postgresql:///nothing?host=/nowhere")
# They print a log, which has its own option for JSON.
WITHOUT_JSON = {"serve"}


def walk(command: Any, *path: str) -> dict[tuple[str, ...], Any]:
    found = {path: command}
    for name, below in getattr(command, "commands", {}).items():
        found |= walk(below, *path, name)
    return found


COMMANDS = walk(PROGRAM)
LEAVES = {path: it for path, it in COMMANDS.items() if not hasattr(it, "commands")}


def named(path: tuple[str, ...]) -> str:
    return "-".join(("tenure", *path))


@pytest.mark.parametrize("path", COMMANDS, ids=named)
def test_help_is_as_it_was_found_good(path: tuple[str, ...]) -> None:
    shown = _NOWHERE(*path, "--help", COLUMNS="80")
    assert (shown.code, shown.err) == (0, "")
    assert all(len(line) <= 80 for line in shown.lines), "a line is too long for a terminal"
    golden(f"help/{named(path)}", shown.out)


def test_there_is_no_golden_help_of_a_command_that_is_gone() -> None:
    kept = {path.stem for path in (GOLDEN / "help").glob("*.txt")}
    assert kept == {named(path) for path in COMMANDS}


@pytest.mark.parametrize("path", LEAVES, ids=named)
def test_every_command_has_a_sentence_and_examples_of_itself(path: tuple[str, ...]) -> None:
    command = LEAVES[path]
    assert command.help.split("\n\n")[0].endswith(".")
    assert command.epilog.startswith("tenure ")
    for example in command.epilog.split("\n"):
        # `tenure worker shop.jobs:app` is `tenure worker run shop.jobs:app`.
        words = " ".join(path).removesuffix(" run")
        assert example.startswith(f"tenure {words}"), example


@pytest.mark.parametrize("path", LEAVES, ids=named)
def test_every_command_knows_its_database_and_json(path: tuple[str, ...]) -> None:
    options = {name for param in LEAVES[path].params for name in param.opts}
    assert "--url" in options
    if named(path).removeprefix("tenure-") not in WITHOUT_JSON:
        assert "--json" in options


@pytest.mark.parametrize("path", LEAVES, ids=named)
def test_every_option_and_argument_says_what_it_is(path: tuple[str, ...]) -> None:
    for param in LEAVES[path].params:
        assert param.help, param.name
        if not getattr(param, "is_flag", False):
            assert param.metavar, param.name


def test_a_word_alone_shows_its_help_and_is_a_usage_error() -> None:
    for words in ((), ("job",), ("worker",)):
        shown = _NOWHERE(*words)
        assert shown.code == 2
        assert "Commands" in shown.err or "Jobs" in shown.err


def test_the_version_needs_no_database() -> None:
    assert _NOWHERE("--version").out.strip()
