"""Pictures of pages, compared with kept ones.

A picture shows what a page looks like, not what time it is: times, durations and charts of the last
hours are replaced before it is taken, unless the times of its scene are exact. It is compared at an
eighth of its size, in which a pixel that moved is not seen and a part that moved is. Take all of
them again with `make page-pictures`.
"""

import os
import subprocess
from functools import cache
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image, PngImagePlugin
from playwright.sync_api import Page

KEPT = Path(__file__).parent / "pictures"
TAKE = "TENURE_TEST_TAKE_PICTURES" in os.environ
_SCALE = 8
_COLOURS = 48
_MAX_HEIGHT = 2400  # of a picture; what is below is like what is above
_DIFFERS = 28  # of 255, in a pixel of the small picture
TOLERATED = 0.012  # share of the pixels
# Drawings of what happens in time, and lists of times.
_HIDDEN = (
    *(".history svg *", ".history .hours", ".calendar .run", ".runs", ".lane svg .fill"),
    *(".stop-axis *", ".timeline rect", ".version"),
)
# Replace what differs from run to run: times, durations, ids of workers.
_STILL = r"""(hidden) => {
  const still = (text) => text
    .replace(/\b[0-9a-f]{8}\b/g, "00000000")
    .replace(/\b\d[\d.,]* ?(ms|s|m|h|d)\b( \d+ ?(s|m|h)\b)?/g, "1 s")
    .replace(/\d\d:\d\d(:\d\d)?/g, "00:00:00")
    .replace(/\b\d{4}-\d\d-\d\d\b/g, "0000-00-00");
  for (const time of document.querySelectorAll("time")) {
    time.textContent = "1 s ago";
    delete time.dataset.until; // else it counts down
  }
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) walker.currentNode.nodeValue = still(walker.currentNode.nodeValue);
  for (const drawn of document.querySelectorAll(hidden)) drawn.style.visibility = "hidden";
  for (const meter of document.querySelectorAll("meter, progress")) meter.value = meter.max / 2;
}"""

# The same where the times are exact: only how long ago they were, and ids of workers, differ.
_EXACT = r"""(hidden) => {
  for (const time of document.querySelectorAll("time"))
    if (/ago$|^in |^now$/.test(time.textContent)) time.textContent = "1 s ago";
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const ids = /\b[0-9a-f]{8}-[0-9a-f-]{27}\b|\b[0-9a-f]{8}\b/g;
  while (walker.nextNode())
    walker.currentNode.nodeValue = walker.currentNode.nodeValue.replace(ids, "00000000");
  for (const drawn of document.querySelectorAll(hidden)) drawn.style.visibility = "hidden";
}"""

_SHOW = """(hidden) => {
  for (const drawn of document.querySelectorAll(hidden)) drawn.style.visibility = "";
}"""


def check_picture(page: Page, name: str, *, exact: bool = False) -> list[str]:
    """Return what differs from the kept picture of this name, or take that picture again.

    ``exact`` keeps times and drawings: those of the scene are the same in every run.
    """
    hidden = ".version" if exact else ", ".join(_HIDDEN)
    page.evaluate(_EXACT if exact else _STILL, hidden)
    size = page.viewport_size
    assert size is not None
    height = min(page.evaluate("document.documentElement.scrollHeight"), _MAX_HEIGHT)
    shot = page.screenshot(
        full_page=True,
        animations="disabled",
        caret="hide",
        clip={"x": 0, "y": 0, "width": size["width"], "height": height},
    )
    page.evaluate(_SHOW, hidden)
    taken = Image.open(BytesIO(shot)).convert("RGB")
    path = KEPT / f"{name}.png"
    if TAKE:
        _keep(taken, path)
        return []
    if not path.exists():
        return [f"there is no picture {path.name}; take it with `make page-pictures`"]
    kept = Image.open(path)
    if kept.info.get("font") != machine_font():
        return []  # every line of text is as wide as its font
    share = difference(kept.convert("RGB"), taken)
    return [f"{name}: {share:.1%} of the page looks different"] if share > TOLERATED else []


def difference(kept: Image.Image, taken: Image.Image) -> float:
    """Return the share of two pictures that differs; what only one of them has, differs."""
    size = (max(kept.width, taken.width), max(kept.height, taken.height))
    small = [_small(picture, size) for picture in (kept, taken)]
    return float(np.mean(np.abs(small[0] - small[1]).max(axis=2) > _DIFFERS))


def _small(picture: Image.Image, size: tuple[int, int]) -> np.ndarray:
    whole = Image.new("RGB", size, "magenta" if picture.size != size else "black")
    whole.paste(picture)
    shape = (-(-size[0] // _SCALE), -(-size[1] // _SCALE))
    return np.asarray(whole.resize(shape, Image.Resampling.BOX), dtype=np.int16)


def _keep(taken: Image.Image, path: Path) -> None:
    about = PngImagePlugin.PngInfo()
    about.add_text("font", machine_font())
    path.parent.mkdir(exist_ok=True)
    # Not the median cut, which loses a colour that has few pixels, such as a red bar.
    method = Image.Quantize.MAXCOVERAGE
    palette = taken.quantize(_COLOURS, method, dither=Image.Dither.NONE)
    palette.save(path, optimize=True, pnginfo=about)


@cache
def machine_font() -> str:
    """Return the font that this machine has for text without a preference."""
    asked = ["fc-match", "-f", "%{family}", "system-ui"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout
