"""Record a part of a page as an animated PNG."""

import io
import time
from itertools import pairwise
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page

EVERY = 0.25  # seconds between two frames
LAST = 5.0  # seconds that the last frame is shown
COLOURS = 48


class Animation:
    """Frames of the part of a page that is given by a selector."""

    def __init__(self, page: Page, selector: str, height: int) -> None:
        self._page, self._selector, self._height = page, selector, height
        self._frames: list[tuple[float, Image.Image]] = []

    def take_until(self, text: str, patience: float) -> None:
        """Take frames until the part contains a text, and one of what it then is."""
        until = time.monotonic() + patience
        part = self._page.locator(self._selector)
        while text not in part.inner_text():
            if time.monotonic() > until:
                raise SystemExit(f"{text!r} did not appear")
            self._take()
            time.sleep(EVERY)
        self._page.mouse.move(0, 0)
        self._page.wait_for_timeout(500)
        self._take()

    def save(self, path: Path) -> None:
        times = [at for at, _ in self._frames]
        lengths = [later - at for at, later in pairwise(times)]
        images = [image.convert("RGB") for _, image in self._frames]
        both = Image.new("RGB", (images[0].width, 2 * images[0].height))
        both.paste(images[len(images) // 2], (0, 0))  # it has colours that the last does not have
        both.paste(images[-1], (0, images[0].height))
        palette = both.quantize(COLOURS, dither=Image.Dither.NONE)
        first, *others = [
            image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images
        ]
        first.save(
            path,
            save_all=True,
            append_images=others,
            duration=[round(1000 * length) for length in (*lengths, LAST)],
            loop=0,
            optimize=True,
        )

    def _take(self) -> None:
        box = self._page.locator(self._selector).bounding_box()
        if box is None:
            return
        clip = {**box, "height": float(self._height)}
        image = Image.open(io.BytesIO(self._page.screenshot(clip=clip)))  # type: ignore[arg-type]
        image.load()
        self._frames.append((time.monotonic(), image))
