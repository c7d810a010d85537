"""What the benchmark of scale makes of what it found."""

from pathlib import Path
from xml.etree import ElementTree

from bench.scale.curves import Curve, Run, points
from bench.scale.drawing import draw, size
from bench.scale.page import picture, write

RATES = Curve("jobs per second", "workers", "jobs/s", {"all together": points([(1, 10), (8, 40)])})
COST = Curve(
    "CPU of PostgreSQL for a job", "workers", "us", {"PostgreSQL": points([(1, 60), (8, 100)])}
)
OLD = Curve(
    "claim and finish under an old snapshot",
    "seconds",
    "jobs/s",
    {"none": points([(10, 100), (20, 100)]), "pinned": points([(10, 100), (20, 50)])},
    of_sizes=False,
)


def test_a_curve_is_drawn_with_its_sizes_and_its_names() -> None:
    drawn = draw(RATES)
    root = ElementTree.fromstring(drawn)
    texts = [element.text for element in root.iter() if element.text]
    assert {"1", "8", "workers", "all together", "40"} <= set(texts)
    assert "jobs per second (jobs/s)" in texts


def test_what_grows_stands_higher_and_further_right() -> None:
    root = ElementTree.fromstring(draw(RATES))
    [line] = [element for element in root.iter() if element.tag.endswith("polyline")]
    (x1, y1), (x2, y2) = (map(float, point.split(",")) for point in line.attrib["points"].split())
    assert x2 > x1
    assert y2 < y1


def test_names_do_not_stand_on_one_another() -> None:
    same = Curve("x", "y", "z", {name: points([(1, 5), (10, 5)]) for name in ("a", "b", "c")})
    root = ElementTree.fromstring(draw(same))
    ends = [float(it.attrib["y"]) for it in root.iter() if it.text in ("a", "b", "c")]
    assert min(b - a for a, b in zip(sorted(ends), sorted(ends)[1:], strict=False)) >= 14


def test_the_page_says_what_follows_from_what_was_measured_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    write(Run("2026-01-01", "2 cores", "PostgreSQL 18", [COST, OLD]), tmp_path)
    text = (tmp_path / "scale.md").read_text()
    # 100 M a day are 1,157 a second, five times that in the peak, 100 us each, half busy.
    assert "0.58 cores" in text
    assert "half busy, 1.2" in text
    assert "0.75 times the speed" in text
    assert "**Disk**" not in text
    assert (tmp_path / "pictures" / picture(OLD)).exists()


def test_sizes_are_told_in_few_signs() -> None:
    assert [size(x) for x in (1, 10, 1_000, 2_500, 10_000_000)] == ["1", "10", "1k", "2.5k", "10M"]
