"""Shell completion, which Typer makes of the commands."""

import pytest

from tests.cli.running import process

NOWHERE = "postgresql:///nothing?host=/nowhere"


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_shell_is_given_its_script(shell: str) -> None:
    script = process(NOWHERE, _TENURE_COMPLETE=f"source_{shell}")
    assert script.code == 0
    assert "_TENURE_COMPLETE" in script.out


def test_words_are_completed() -> None:
    asked = {"COMP_WORDS": "tenure job can", "COMP_CWORD": "2"}
    offered = process(NOWHERE, _TENURE_COMPLETE="complete_bash", **asked)
    assert offered.out.split() == ["cancel", "cancel-status", "cancellations"]


def test_options_are_completed() -> None:
    asked = {"COMP_WORDS": "tenure job cancel --no-", "COMP_CWORD": "3"}
    offered = process(NOWHERE, _TENURE_COMPLETE="complete_bash", **asked)
    assert {"--no-cascade", "--no-wait"} <= set(offered.out.split())
