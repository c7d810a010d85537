"""Curves, drawn as SVG: plain enough for a page in light and in dark."""

import math
from html import escape

from bench.scale.curves import Curve, Point

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM, _RIGHT = 660, 250, 70, 40, 46, 130
_COLOURS = ("#2f6fdf", "#d9822b", "#3a9d5d", "#8a5cc2")
_TEXT, _GRID = "#6b7280", "#9aa4b2"


def draw(curve: Curve) -> str:
    seen = [point for series in curve.series.values() for point in series]
    across, up = _across(curve, seen), _up(seen)
    title = escape(f"{curve.name} ({curve.unit})" if curve.unit else curve.name)
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
            f'font-family="system-ui, sans-serif" font-size="12" role="img">'
        ),
        f"<title>{escape(curve.name)}</title>",
        f'<text x="0" y="16" font-size="13" font-weight="600" fill="{_TEXT}">{title}</text>',
        *_scale(across, up, curve),
    ]
    ends: list[float] = []
    for (name, series), colour in zip(curve.series.items(), _COLOURS, strict=False):
        parts += _line(series, colour, across, up)
        x, y = across.place(series[-1].x), up.place(series[-1].y)
        ends.append(y := _apart(y, ends))
        parts.append(f'<text x="{x + 8:.1f}" y="{y + 4:.1f}" fill="{colour}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>\n"])


class _Axis:
    """From values to places; sizes that grow tenfold stand at equal distances."""

    def __init__(self, low: float, high: float, begin: float, end: float, *, tenfold: bool) -> None:
        self._tenfold = tenfold
        self._low, self._high = self._at(low), self._at(high)
        self._begin, self._end = begin, end

    def _at(self, value: float) -> float:
        return math.log10(max(value, 1e-9)) if self._tenfold else value

    def place(self, value: float) -> float:
        span = (self._high - self._low) or 1.0
        share = (self._at(value) - self._low) / span
        return self._begin + share * (self._end - self._begin)


def _across(curve: Curve, seen: list[Point]) -> _Axis:
    low, high = min(point.x for point in seen), max(point.x for point in seen)
    return _Axis(low, high, _LEFT, _WIDTH - _RIGHT, tenfold=curve.of_sizes and low > 0)


def _up(seen: list[Point]) -> _Axis:
    high = max(point.y for point in seen) or 1.0
    return _Axis(0.0, high, _HEIGHT - _BOTTOM, _TOP, tenfold=False)


def _scale(across: _Axis, up: _Axis, curve: Curve) -> list[str]:
    top = max(point.y for series in curve.series.values() for point in series)
    parts = []
    for share in (0.0, 0.5, 1.0):
        y = up.place(top * share)
        parts.append(
            f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" '
            f'stroke="{_GRID}" stroke-opacity="0.4"/>'
            f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end" fill="{_TEXT}">'
            f"{number(top * share)}</text>"
        )
    longest = max(curve.series.values(), key=len)
    shown = longest if curve.of_sizes else [longest[0], longest[len(longest) // 2], longest[-1]]
    for point in shown:
        x = across.place(point.x)
        parts.append(
            f'<text x="{x:.1f}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle" fill="{_TEXT}">'
            f"{size(point.x)}</text>"
        )
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(
        f'<text x="{middle:.0f}" y="{_HEIGHT - 8}" text-anchor="middle" fill="{_TEXT}">'
        f"{escape(curve.size)}</text>"
    )
    return parts


def _line(series: list[Point], colour: str, across: _Axis, up: _Axis) -> list[str]:
    places = [(across.place(point.x), up.place(point.y)) for point in series]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dots = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
    return [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>', *dots]


def _apart(y: float, others: list[float]) -> float:
    """Names that would stand on one another stand below one another."""
    while any(abs(y - other) < 14 for other in others):
        y += 14
    return y


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def size(value: float) -> str:
    for unit, sign in ((1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:g}{sign}"
    return f"{value:g}"
