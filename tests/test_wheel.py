"""What is installed elsewhere: a wheel that was built has all that the source has."""

import re
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from email import message_from_string
from pathlib import Path

import pytest
from tools.readme_hook import absolute

import tenure
from tests.workers import ROOT

SOURCE = ROOT / "src" / "tenure"


@dataclass(frozen=True)
class Wheel:
    path: Path

    @property
    def names(self) -> set[str]:
        """The names of the files in it."""
        with zipfile.ZipFile(self.path) as opened:
            return set(opened.namelist())

    def text(self, name: str) -> str:
        """A file of its metadata."""
        with zipfile.ZipFile(self.path) as opened:
            [path] = [it for it in opened.namelist() if it.endswith(f".dist-info/{name}")]
            return opened.read(path).decode()


def build(kind: str, source: Path, folder: Path) -> None:
    # Without isolation nothing is fetched; hatchling is what builds it everywhere.
    code = f"import sys; from hatchling.build import build_{kind} as b; b(sys.argv[1])"
    command = [sys.executable, "-c", code, str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Wheel:
    folder = tmp_path_factory.mktemp("wheel")
    build("wheel", ROOT, folder)
    [made] = folder.glob("tenure-*.whl")
    return Wheel(made)


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
def test_a_wheel_has_all_of_it(wheel: Wheel, place: Path, kind: str) -> None:
    assert files(place, kind) - wheel.names == set()


def test_a_wheel_has_nothing_else(wheel: Wheel) -> None:
    ours = {str(path.relative_to(ROOT / "src")) for path in SOURCE.rglob("*") if path.is_file()}
    others = {name for name in wheel.names - ours if ".dist-info/" not in name}
    assert others == set()
    assert "tenure/py.typed" in wheel.names
    assert any(name.endswith("entry_points.txt") for name in wheel.names)


def test_the_readme_of_the_index_has_no_relative_links(wheel: Wheel) -> None:
    text = wheel.text("METADATA")
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    assert len(links) > 20
    assert [link for link in links if not link.startswith(("https://", "#"))] == []
    pictures = re.findall(r"!\[[^\]]*\]\(([^)\s]+)\)", text)
    tag = f"/v{tenure.__version__}/docs/pictures/"
    assert pictures
    assert [it for it in pictures if tag not in it or "raw." not in it] == []


def test_a_link_that_is_absolute_stays_as_it_is() -> None:
    text = "[a](https://a.org) [b](#b) ![c](docs/c.png) [d](d.md#e)"
    made = absolute(text, "https://github.com/o/r", "v1")
    assert made == (
        "[a](https://a.org) [b](#b) ![c](https://raw.githubusercontent.com/o/r/v1/docs/c.png) "
        "[d](https://github.com/o/r/blob/v1/d.md#e)"
    )


def test_the_wheel_declares_what_the_index_shows(wheel: Wheel) -> None:
    metadata = message_from_string(wheel.text("METADATA"))
    assert metadata["Version"] == tenure.__version__
    urls = {line.split(", ")[0] for line in metadata.get_all("Project-URL", [])}
    assert urls == {"Homepage", "Documentation", "Changelog", "Source", "Issues"}
    extras = set(metadata.get_all("Provides-Extra", []))
    assert {"all", "embedded", "otel", "web"} <= extras
    [uvloop] = [it for it in metadata.get_all("Requires-Dist", []) if it.startswith("uvloop")]
    assert "win32" in uvloop
    points = wheel.text("entry_points.txt")
    assert "[pytest11]\ntenure = tenure.testing.plugin" in points


def test_a_wheel_is_built_from_the_source_distribution(tmp_path: Path, wheel: Wheel) -> None:
    build("sdist", ROOT, tmp_path)
    [archive] = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(tmp_path, filter="data")
    [source] = (path for path in tmp_path.iterdir() if path.is_dir())
    assert not (source / "tests").exists()
    build("wheel", source, tmp_path)
    [made] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(made) as opened_wheel:
        assert set(opened_wheel.namelist()) == wheel.names


def test_an_import_of_the_app_loads_no_driver_and_no_framework() -> None:
    heavy = ("fastapi", "jinja2", "psycopg", "prometheus_client", "rich", "typer", "uvicorn")
    code = f"import sys; from tenure import Tenure; print([n for n in {heavy} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
