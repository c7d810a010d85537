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


def missing(page: str) -> list[str]:
    """Return the paths on a page that exist neither in the package nor in the repository."""
    return [path for path in paths(page) if not any((at / path).exists() for at in (SRC, ROOT))]
