"""Every command and every option with odd values: a sentence and a documented code, or success.

The commands are read from the program itself, so a new one is tried without being named here.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from tenure.domain.lifecycle import State
from tenure.store.store import Store
from tests.cli.running import PROGRAM, Cli, Done
from tests.factories import make_job, make_job_in

DOCUMENTED = {
    int(code)
    for row in re.findall(
        r"^\| ([\d, ]+) \|", Path(__file__).parents[2].joinpath("docs/cli.md").read_text(), re.M
    )
    for code in row.split(",")
}
ODD = {
    "empty": "",
    "blank": "   ",
    "unknown": "no-such-thing",
    "huge": "99999999999999999999",
    "digits": "9" * 5000,
    "negative": "-1",
    "zero": "0",
    "control": "a\x1b[31mb\x07c\r\nd",
    "surrogate": "a\udc80b",
    "long": "x" * 100_000,
    "deep": "[" * 3000 + "]" * 3000,
    "not JSON": "{",
    "number": "1e400",
    "far": "999999d",
    "farthest": "99999999999999999999d",
    "first year": "0001-01-01T00:00+23:59",
    "last year": "9999-12-31T23:59-23:59",
    "quotes": "'; DROP SCHEMA tenure; --",
    "pair": "status=" + "9" * 5000,
    "deep pair": "x=" + "[" * 3000 + "]" * 3000,
    "odd pair": "parent=-1",
    "unicode": "🦆\u202e",
}
# They start long-running processes or read the terminal; their values are tried on their own.
GOING_ON = {"up", "serve", "worker run", "top", "worker"}


def commands(group: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*words, name))
        else:
            yield (*words, name), command


COMMANDS = {" ".join(words): command for words, command in commands(PROGRAM)}


def tries(command: Any) -> Iterator[tuple[str, list[str]]]:
    """Each parameter with each odd value; the others have a plain one."""
    params = [it for it in command.get_params(typer.Context(command)) if it.name != "help"]
    arguments = [it for it in params if it.param_type_name == "argument"]
    needed = [it for it in params if it.param_type_name == "option" and it.required]
    plain = [*("1" for it in arguments if it.required), *(_given(it, "age=1h") for it in needed)]
    if not arguments and not params:
        yield "nothing", []
    for param in params:
        if getattr(param, "is_flag", False):
            yield f"{param.name} alone", [*_flat(plain), param.opts[0]]
            continue
        for name, value in ODD.items():
            words = [
                *(value if it is param else "1" for it in arguments if it.required or it is param),
                *_flat([_given(it, "age=1h") for it in needed if it is not param]),
            ]
            if param.param_type_name == "option":
                words += [f"{max(param.opts, key=len)}={value}"]
            else:
                words = ["--", *words] if not needed else words
            yield f"{param.name} {name}", words


def _given(option: Any, value: str) -> list[str]:
    return [f"{max(option.opts, key=len)}={value}"]


def _flat(words: list[Any]) -> list[str]:
    return [it for word in words for it in ([word] if isinstance(word, str) else word)]


def assert_told(done: Done) -> None:
    """It was carried out, or refused in one sentence with a documented code."""
    assert done.code in DOCUMENTED, done
    assert "Traceback" not in done.out + done.err
    assert "\x1b[31m" not in done.out + done.err
    if done.code not in (0, 1, 130) and not done.out:  # the doctor tells it as a finding
        [line] = done.err.splitlines()
        assert line.startswith(("tenure: ", '{"error":{"type":"')), done
        assert len(line) < 2000, line[:300]


@pytest.mark.parametrize(
    "words", [["x" * 5000], ["job", "x" * 5000], ["job", "list", "--" + "x" * 5000]]
)
def test_a_sentence_about_what_was_typed_is_short(cli: Cli, words: list[str]) -> None:
    done = cli(*words)
    assert done.code == 2
    assert_told(done)


@pytest.mark.parametrize("name", sorted({*COMMANDS} - GOING_ON))
def test_a_command_takes_or_refuses_whatever_it_is_given(
    cli: Cli, store: Store, name: str, tmp_path: Path
) -> None:
    follows = name in ("job watch", "job stream")  # until the job has ended
    make_job_in(store, State.COMPLETED) if follows else make_job(store)
    wrong: list[str] = []
    env = {"TENURE_FOLDER": str(tmp_path / "folder")}
    for what, words in tries(COMMANDS[name]):
        command = [*name.split(), *words]
        if any(it.startswith("--url=") for it in words):
            env["TENURE_CONNECT_TIMEOUT"] = "2s"
        if name in ("job watch", "job cancel", "job pause", "job enqueue") and words:
            command = [*name.split(), *_hurried(name, words)]
        try:
            assert_told(cli(*command, **env))
        except Exception as error:  # noqa: BLE001 - all that is wrong is told together
            wrong.append(f"{what}: {str(error).splitlines()[0][:300]}")
    assert wrong == []


def _hurried(name: str, words: list[str]) -> list[str]:
    """Nothing is waited for: no worker runs."""
    if name in ("job cancel", "job pause") and not any(it.startswith("--timeout") for it in words):
        return ["--timeout=1ms", *words]
    return [it for it in words if it != "--wait"]


def test_the_codes_of_the_documentation_are_read() -> None:
    assert {0, 1, 2, 3, 10, 11, 12, 13, 14, 15, 130} <= DOCUMENTED
