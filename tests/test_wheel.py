"""What is installed elsewhere: a wheel that was built has all that the source has."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.workers import ROOT

SOURCE = ROOT / "src" / "tenure"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names of the files in it."""
    folder = tmp_path_factory.mktemp("wheel")
    # Without isolation nothing is fetched; hatchling is what builds it everywhere.
    build = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"
    subprocess.run(
        [sys.executable, "-c", build, str(folder)], cwd=ROOT, check=True, capture_output=True
    )
    [made] = folder.glob("tenure-*.whl")
    with zipfile.ZipFile(made) as opened:
        return set(opened.namelist())


def files(folder: Path, kind: str) -> set[str]:
    found = {str(path.relative_to(ROOT / "src")) for path in folder.rglob(f"*{kind}")}
    assert found, folder
    return found


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        (SOURCE, ".py"),
        (SOURCE / "store" / "verbs", ".sql"),
        (SOURCE / "store" / "migrations", ".sql"),
        (SOURCE / "web" / "dashboard" / "templates", ".html"),
        (SOURCE / "web" / "dashboard" / "static", ".css"),
        (SOURCE / "web" / "dashboard" / "static", ".js"),
    ],
)
def test_a_wheel_has_all_of_it(wheel: set[str], place: Path, kind: str) -> None:
    assert files(place, kind) - wheel == set()


def test_a_wheel_has_nothing_else(wheel: set[str]) -> None:
    ours = {str(path.relative_to(ROOT / "src")) for path in SOURCE.rglob("*") if path.is_file()}
    others = {name for name in wheel - ours if ".dist-info/" not in name}
    assert others == set()
    assert "tenure/py.typed" in wheel
    assert any(name.endswith("entry_points.txt") for name in wheel)
