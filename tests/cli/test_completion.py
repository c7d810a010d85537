"""Shell completion, which Typer makes of the commands."""

import pytest

from tenure.store.store import Store
from tests.cli.running import process
from tests.factories import announce, make_job

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


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("job enqueue shop.", ["shop.crawl"]),
        ("job list --queue ma", ["mail"]),
        ("job list --status com", ["completed"]),
        ("job show ne", ["newest"]),
    ],
)
def test_names_are_read_from_the_database(
    typed: str, offered: list[str], database: str, store: Store
) -> None:
    announce(database, "shop.crawl", "other")
    make_job(store, queue="mail", key="newest")
    words = f"tenure {typed}"
    asked = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    found = process(database, _TENURE_COMPLETE="complete_bash", **asked)
    assert (found.out.split(), found.err) == (offered, "")


def test_a_database_that_is_away_offers_nothing_and_says_nothing() -> None:
    asked = {"COMP_WORDS": "tenure job show 1", "COMP_CWORD": "3"}
    found = process(NOWHERE, _TENURE_COMPLETE="complete_bash", **asked)
    assert (found.out.split(), found.err) == ([], "")
