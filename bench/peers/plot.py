"""Bars, drawn as SVG: plain enough for a page in light and in dark."""

from html import escape
from typing import NamedTuple

_LEFT, _WIDTH, _ROW, _TOP = 130, 420, 24, 34
_BLUE, _GREY, _TEXT = "#2f6fdf", "#9aa4b2", "#6b7280"
OURS = "Tenure"


class Bar(NamedTuple):
    name: str
    value: "float | str | None"  # a word stands where there is no number


def plot(title: str, bars: list[Bar], *, more: bool) -> str:
    drawn = ranked(bars, more=more)
    most = max((bar.value for bar in drawn if isinstance(bar.value, float)), default=1.0) or 1.0
    height = _TOP + _ROW * len(drawn) + 8
    rows = [_row(bar, place, most) for place, bar in enumerate(drawn)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + _WIDTH + 110} {height}" '
        f'font-family="system-ui, sans-serif" font-size="13" role="img">\n'
        f"<title>{escape(title)}</title>\n"
        f'<text x="0" y="18" font-weight="600" fill="{_TEXT}">{escape(title)}</text>\n'
        f"{''.join(rows)}</svg>\n"
    )


def ranked(bars: list[Bar], *, more: bool) -> list[Bar]:
    """The best first; who has only a word comes last, who has nothing is left out."""
    known = [bar for bar in bars if bar.value is not None]
    return sorted(known, key=lambda bar: _order(bar, more=more))


def number(value: "float | str | None") -> str:
    """As it is shown: a failure without its details."""
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"
    return (value or "").partition(":")[0]


def _order(bar: Bar, *, more: bool) -> tuple[bool, float]:
    if not isinstance(bar.value, float):
        return True, 0.0
    return False, -bar.value if more else bar.value


def _row(bar: Bar, place: int, most: float) -> str:
    y = _TOP + _ROW * place
    name = (
        f'<text x="{_LEFT - 8}" y="{y + 13}" text-anchor="end" fill="{_TEXT}">'
        f"{escape(bar.name)}</text>"
    )
    if not isinstance(bar.value, float):
        said = escape(number(bar.value))
        return f'{name}<text x="{_LEFT}" y="{y + 13}" fill="{_TEXT}">{said}</text>\n'
    length = max(bar.value / most * _WIDTH, 1.5)
    colour = _BLUE if bar.name == OURS else _GREY
    end = f"{_LEFT + length + 6:.1f}"
    return (
        f'{name}<rect x="{_LEFT}" y="{y}" width="{length:.1f}" height="17" rx="2" fill="{colour}"/>'
        f'<text x="{end}" y="{y + 13}" fill="{_TEXT}">{number(bar.value)}</text>\n'
    )
