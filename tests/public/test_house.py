"""The house rules are measured, and a limit that is exceeded fails the check."""

from pathlib import Path

import pytest
from tools import house

PLANTED = '''"""Whether it is so."""


class Crew:
    """A group."""

    def take_turns(self, most: int) -> None:
        self.said = most


class Crew:
    pass
'''


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "crew.py"
    file.write_text(PLANTED)
    sql = tmp_path / "wide.sql"
    sql.write_text(f"-- {'x' * house.MAX_SQL_COLUMNS}\nSELECT complaint FROM job;\n")
    monkeypatch.setattr(house, "ROOT", tmp_path)
    monkeypatch.setattr(house, "_python", lambda: [file])
    monkeypatch.setattr(house, "_sql", lambda: [sql])


@pytest.mark.usefixtures("planted")
def test_every_rule_notices_what_breaks_it() -> None:
    assert house.repeated_classes() == ["Crew: crew.py, crew.py"]
    assert house.noun_clauses() == ["crew.py: Whether it is so."]
    assert house.wide_sql_lines() == ["wide.sql:1: 113 columns"]
    assert [line.split(": ")[1] for line in house.retired_words()] == [
        *("Crew", "crew", "most", "said", "complaint"),
    ]


def test_a_word_is_retired_only_as_a_whole() -> None:
    assert not house.RETIRED_WORDS.intersection(house._words("utmost_looked_done"))
    assert house.RETIRED_WORDS.intersection(house._words("RunnerCrew"))


@pytest.mark.parametrize(("limit", "code"), [(1, 1), (2, 0), (None, 0)])
def test_a_limit_that_is_exceeded_fails(
    limit: int | None, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(house, "FIGURES", {"things": (lambda: ["a", "b"], limit)})
    assert house.main([]) == code


def test_a_figure_lists_what_it_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert house.main(["private-imports"]) == 0
    assert capsys.readouterr().out == ""
