"""What the benchmark beside the peers makes of what it found."""

from pathlib import Path
from xml.etree import ElementTree

import pytest
from bench.peers.measuring import WORKS, Figure, Line
from bench.peers.plot import Bar, plot
from bench.peers.report import Found, Run, Told, keep, kept, write

[DRAIN] = WORKS["drain"].lines
[PICK_UP, *_] = WORKS["live"].lines


def run(*found: tuple[str, Line, float | None, str | None]) -> Run:
    peers = [
        Told("Tenure", "1.0", "PostgreSQL", "as they come"),
        Told("Other", "2.0", "Redis", "as they come"),
    ]
    figures = [Found(peer, Figure(line.name, value, why)) for peer, line, value, why in found]
    return Run("2026-01-01", "2 cores", {"PostgreSQL": "18"}, peers, figures)


def test_a_cell_is_the_median_of_its_rounds() -> None:
    told = run(*(("Tenure", DRAIN, value, None) for value in (10.0, 30.0, 20.0)))
    assert told.cell("Tenure", DRAIN) == 20.0
    assert told.cell("Other", DRAIN) is None


def test_a_round_without_a_number_says_why_only_if_no_other_has_one() -> None:
    told = run(
        ("Tenure", DRAIN, None, "failed: once"),
        ("Tenure", DRAIN, 20.0, None),
        ("Other", DRAIN, None, "cannot"),
    )
    assert told.cell("Tenure", DRAIN) == 20.0
    assert told.cell("Other", DRAIN) == "cannot"


def test_the_best_is_the_most_of_a_rate_and_the_least_of_a_time() -> None:
    told = run(
        ("Tenure", DRAIN, 20.0, None),
        ("Other", DRAIN, 30.0, None),
        ("Tenure", PICK_UP, 2.0, None),
        ("Other", PICK_UP, 3.0, None),
    )
    assert told.best(DRAIN) == 30.0
    assert told.best(PICK_UP) == 2.0


def test_only_what_was_measured_is_a_line() -> None:
    assert list(run(("Tenure", PICK_UP, 2.0, None)).lines) == [PICK_UP]


def test_the_page_shows_every_peer_and_the_best_in_bold(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    told = run(("Tenure", DRAIN, 20_000.0, None), ("Other", DRAIN, None, "failed: no such table"))
    write(told, tmp_path)
    page = (tmp_path / "benchmarks.md").read_text()
    assert "| Tenure | **20,000** |" in page
    assert "| Other | failed |" in page
    assert "![drain, one worker](pictures/bench-drain-one-worker.svg)" in page
    assert (tmp_path / "pictures" / "bench-drain-one-worker.svg").exists()


def test_the_page_has_a_table_for_each_unit(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    write(run(("Tenure", DRAIN, 20_000.0, None), ("Tenure", PICK_UP, 2.0, None)), tmp_path)
    page = (tmp_path / "benchmarks.md").read_text()
    assert "\n\n| jobs/s | drain, one worker |\n| --- | --- |\n| Tenure | **20,000** |\n" in page
    assert "\n\n| ms | pick-up, p50 |\n| --- | --- |\n| Tenure | **2.0** |\n" in page


def test_the_page_says_where_somebody_else_is_first(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    ahead = ("Tenure", DRAIN, 20_000.0, None), ("Other", DRAIN, 3_000.0, None)
    write(run(*ahead), tmp_path)
    assert "Nowhere, in this run." in (tmp_path / "benchmarks.md").read_text()
    write(run(*ahead, ("Tenure", PICK_UP, 6.0, None), ("Other", PICK_UP, 4.0, None)), tmp_path)
    page = (tmp_path / "benchmarks.md").read_text()
    assert f"- **pick-up, p50**: Other 4.0 ms, Tenure 6.0 ms. {PICK_UP.bound}" in page
    assert "- **drain" not in page.partition("## What is measured")[0]


def test_what_is_kept_can_be_read_again(tmp_path: Path) -> None:
    told = run(("Tenure", DRAIN, 20.0, None))
    keep(told, tmp_path / "peers.json")
    assert kept(tmp_path / "peers.json") == told


def test_who_wants_to_see_what_nobody_measured_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="nothing was measured yet"):
        kept(tmp_path / "peers.json")


def test_remarks_about_a_run_stand_below_its_tables(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    told = run(("Tenure", DRAIN, 20.0, None))
    told.remarks.append("The moon was full.")
    write(told, tmp_path)
    page = (tmp_path / "benchmarks.md").read_text()
    assert "|\n\nThe moon was full.\n\nThe best of each column is bold." in page


def test_the_page_says_how_many_rounds_there_were(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    drained = [("Tenure", DRAIN, value, None) for value in (1.0, 2.0, 3.0)]
    write(run(*drained), tmp_path)
    assert "figures are medians of 3 rounds. " in (tmp_path / "benchmarks.md").read_text()
    write(run(*drained, ("Tenure", PICK_UP, 2.0, None)), tmp_path)
    page = (tmp_path / "benchmarks.md").read_text()
    assert "figures are medians of 3 rounds (pick-up, p50: 1). " in page


def test_a_plot_is_well_formed_and_has_the_best_first() -> None:
    bars = [Bar("Slow & old", 5.0), Bar("Tenure", 20.0), Bar("Other", "cannot")]
    drawn = ElementTree.fromstring(plot("drain", bars, more=True))
    texts = [text.text for text in drawn.iter() if text.tag.endswith("text")]
    assert texts == ["drain", "Tenure", "20.0", "Slow & old", "5.0", "Other", "cannot"]
    widths = [float(bar.attrib["width"]) for bar in drawn.iter() if bar.tag.endswith("rect")]
    assert widths[0] == 4 * widths[1]
