"""Every requirement of the five systems has a test that exists, or a page that says why not."""

import pytest
from tools import seeds_page
from tools.requirements import Document, Requirement, documents

from tests.named import is_a_test

# How far the documents number their requirements, and which numbers nobody has.
LAST = {"S0": 90, "S1": 27, "S2": 88, "S3": 38, "S4": 49}
UNUSED = {"S0-54", "S1-7", "S2-9", "S4-37", "S4-40"}

REQUIREMENTS = [
    (number, it) for document in documents() for number, it in document.requirements.items()
]


def test_every_requirement_has_an_entry() -> None:
    wanted = [f"{system}-{n}" for system, last in LAST.items() for n in range(1, last + 1)]
    assert [number for number, _ in REQUIREMENTS] == [it for it in wanted if it not in UNUSED]
    assert len(REQUIREMENTS) == 287


def test_each_named_test_exists() -> None:
    named = [(number, test) for number, it in REQUIREMENTS for test in it.tests]
    assert [(number, test) for number, test in named if not is_a_test(f"tests/{test}")] == []


def test_what_no_test_shows_has_a_page_and_what_differs_has_both() -> None:
    assert [number for number, it in REQUIREMENTS if not _is_shown(it)] == []


def _is_shown(it: Requirement) -> bool:
    if it.differs is not None:
        return bool(it.tests and it.page)
    return bool(it.tests or it.page)


@pytest.mark.parametrize(
    "name",
    [
        "tests/docs/test_seeds.py::test_nobody_wrote_this",
        "tests/docs/test_nowhere.py::test_each_named_test_exists",
        "tests/docs/test_seeds.py::_is_shown",
    ],
)
def test_a_test_that_is_not_there_is_noticed(name: str) -> None:
    assert is_a_test("tests/docs/test_seeds.py::test_each_named_test_exists")
    assert not is_a_test(name)


def test_a_line_says_what_is_met_in_another_way(monkeypatch: pytest.MonkeyPatch) -> None:
    differs = Requirement("Red.", ("store/test_a.py::test_it_is_blue",), "names.md", "Blue.")
    made = Document(
        "A title", "folder", {"S9-1": Requirement("Round.", page="x.md"), "S9-2": differs}
    )
    monkeypatch.setattr(seeds_page, "documents", lambda: [made])
    page = seeds_page.seeds_page()
    assert "- [A title](#a-title): 2 requirements, of which 1 are met in another way." in page
    assert "| S9-1 | Round. [Page](x.md) |  |" in page
    assert "**Differs**: Blue. [Why](names.md) | [it is blue](../tests/store/test_a.py) |" in page
