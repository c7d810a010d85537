"""The public surface is what its files show: a change of either is seen in review."""

import difflib

import pytest
from tools import surface


@pytest.mark.parametrize("kind", surface.KINDS)
def test_the_surface_is_as_recorded(kind: str) -> None:
    path = surface.FOLDER / f"{kind}.txt"
    recorded = path.read_text().splitlines()
    found = surface.text(kind).splitlines()
    changes = difflib.unified_diff(recorded, found, "recorded", "now", n=0, lineterm="")
    shown = "\n".join(changes)
    assert not shown, f"{shown}\n\nIf this change is meant, run: make surface"


@pytest.mark.parametrize("kind", surface.KINDS)
def test_a_surface_has_lines(kind: str) -> None:
    assert len(surface.text(kind).splitlines()) > 20
