"""The comparison of pictures sees what a person would."""

from PIL import Image, ImageDraw

from tests.web.dashboard.pictures import TOLERATED, difference


def drawn(x: int, y: int, colour: str = "navy", height: int = 600) -> Image.Image:
    picture = Image.new("RGB", (800, height), "white")
    ImageDraw.Draw(picture).rectangle((x, y, x + 120, y + 60), fill=colour)
    return picture


def test_a_pixel_that_moved_is_not_seen_and_a_part_that_moved_is() -> None:
    kept = drawn(100, 100)
    assert difference(kept, drawn(101, 100)) <= TOLERATED
    assert difference(kept, drawn(100, 140)) > TOLERATED
    assert difference(kept, drawn(100, 100, "maroon")) > TOLERATED
    assert difference(kept, drawn(100, 100, height=640)) > TOLERATED, "a line more"
