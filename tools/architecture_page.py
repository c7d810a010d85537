"""Generate the layers of the architecture from the contract that enforces them."""

import re
import tomllib
from pathlib import Path

from tools.blocks import filled

ROOT = Path(__file__).parent.parent
SRC = ROOT / "src" / "tenure"

_PATH = re.compile(r"`([\w./-]*(?:/|\.(?:py|sql|html)))`")


def architecture_page(page: str) -> str:
    """Return the page with the layers, from the top to the bottom."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = project["tool"]["importlinter"]["contracts"]
    [layers] = [it["layers"] for it in contracts if it["type"] == "layers"]
    lines = [line.replace("tenure.", "") for line in layers]
    return filled(page, "layers", "```text\n" + "\n".join(lines) + "\n```")


def paths(page: str) -> list[str]:
    """Return the files and folders that a page names."""
    return _PATH.findall(page)


def files_of_paths(page: str) -> dict[str, list[str]]:
    """Return the files at the steps of each of the four paths, by title, each file once."""
    section = page.partition("\n## Four paths\n")[2].partition("\n## ")[0]
    return {
        title.replace("`", ""): sorted(set(_PATH.findall(_last_cells(steps))))
        for title, _, steps in (part.partition("\n") for part in section.split("\n### ")[1:])
    }


def _last_cells(table: str) -> str:
    """Return the cells of the last column, which name the files of a step."""
    rows = [line for line in table.splitlines() if line.startswith("|")]
    return "\n".join(row.rstrip("| ").rpartition("|")[2] for row in rows)


def missing(page: str) -> list[str]:
    """Return the paths on a page that exist neither in the package nor in the repository."""
    return [path for path in paths(page) if not any((at / path).exists() for at in (SRC, ROOT))]
