"""A plan as a picture: a column per day, a row per shift, darker with more people."""

from collections.abc import Mapping
from typing import Any

from PIL import Image

CELL = 8


def draw(plan: Mapping[str, Any]) -> Image.Image:
    days = plan["shifts"]
    most = max((len(people) for day in days for people in day), default=1) or 1
    picture = Image.new("L", (max(len(days), 1), max(map(len, days), default=1)), 255)
    for x, day in enumerate(days):
        for y, people in enumerate(day):
            picture.putpixel((x, y), 255 - 200 * len(people) // most)
    return picture.resize((picture.width * CELL, picture.height * CELL), Image.Resampling.NEAREST)
