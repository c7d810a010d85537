"""Build the site into a folder of versions; the default is site/."""

import sys
from pathlib import Path

from tools.site.build import ROOT, build

if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "site")
    print(build(folder, ROOT / ".site") / "index.html")  # noqa: T201
