"""The README and the tutorial work word for word, from an empty folder."""

import re
from pathlib import Path

import pytest

from tests.docs.reading import AGENT_TUTORIAL, README, TUTORIAL, blocks, code
from tests.docs.sessions import LEFT_OUT, Sessions, agrees, commands
from tests.workers import ROOT

pytestmark = pytest.mark.timeout(600)


@pytest.mark.parametrize("page", [README, TUTORIAL, AGENT_TUTORIAL], ids=lambda page: page.stem)
def test_a_page_works_word_for_word(page: Path, tmp_path: Path) -> None:
    with Sessions(tmp_path) as sessions:
        # What stands in the other terminal needs a file that the page shows after it.
        for block in sorted(blocks(page), key=lambda block: block.file is None):
            sessions.follow(block)
    assert sessions.exit_code == 0


def test_what_is_left_out_is_there_all_the_same() -> None:
    makefile = (ROOT / "Makefile").read_text()
    typed = [command for text in code(README, "console") for command, _ in commands(text)]
    for target in re.findall(r"make ([a-z ]+)", "\n".join(typed)):
        for name in target.split():
            assert f"\n{name}:" in makefile, name
    assert [command for command in typed if command.startswith(LEFT_OUT[0])] == [
        'pip install "./tenure[all]"'
    ]


def test_an_answer_that_is_another_is_noticed() -> None:
    assert agrees("Job 1 is completed after 0.6s.\n", "Job 1 is completed after 12.0s.\n")
    assert agrees("Enqueued job 1.\n...\n5\n", "Enqueued job 1.\n07:12 running\n5\n")
    assert not agrees("Job 1 is completed after 0.6s.\n", "Job 1 is failed after 0.6s.\n")
    assert not agrees("Enqueued job 1.\n...\n5\n", "Enqueued job 1.\n4\n")
