"""The catalogue lists what the suite runs."""

from tests.apps.hostile.habits import HABITS
from tests.apps.hostile.kinds import all_kinds
from tests.hostile.catalogue import PLACE, page


def test_the_page_lists_every_kind() -> None:
    assert PLACE.read_text() == page(), "run python -m tests.hostile.catalogue"


def test_there_are_at_least_sixty_kinds_and_twenty_habits() -> None:
    assert len(all_kinds()) >= 60
    assert len(HABITS) >= 20
