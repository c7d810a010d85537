"""Build the documentation site into site/VERSION, strictly; keep the versions beside it.

The pages stay as they are on GitHub: they are copied to a staging folder, where links to files
outside docs become links to the repository, and built there.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tools.readme_hook import version
from tools.site.front import front_page
from tools.site.llms import llms_full, llms_short
from tools.site.navigation import Section, sections

ROOT = Path(__file__).parent.parent.parent
HERE = Path(__file__).parent
DOCS = ROOT / "docs"
REPOSITORY = "https://github.com/tenure-jobs/tenure"
_LINK = re.compile(r"(\]\()((?:\.\./)[^)\s#]+)")
_REDIRECT = (
    '<!doctype html><meta http-equiv="refresh" content="0; url={0}/"><a href="{0}/">{0}</a>\n'
)


def build(target: Path, staging: Path) -> Path:
    """Build this version of the site below a folder of versions, and return its folder."""
    shutil.rmtree(staging, ignore_errors=True)
    found = sections(DOCS)
    _stage(staging / "docs", found)
    entries = json.dumps([section.entry(DOCS) for section in found])
    config = (HERE / "mkdocs.yml").read_text()
    (staging / "mkdocs.yml").write_text(f"{config}nav: {entries}\n")  # JSON is YAML
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    subprocess.run(command, cwd=staging, check=True)  # noqa: S603
    number = ".".join(version(ROOT).split(".")[:2])
    shutil.rmtree(target / number, ignore_errors=True)
    shutil.copytree(staging / "site", target / number)
    for page in (staging / "docs").rglob("*.md"):  # for models; llms.txt names these files
        shutil.copy(page, target / number / page.relative_to(staging / "docs"))
    list_versions(target)
    return target / number


def _stage(docs: Path, found: list[Section]) -> None:
    shutil.copytree(DOCS, docs)
    shutil.copy(HERE / "tenure-site.css", docs)
    index = docs / "index.md"
    index.write_text(front_page((ROOT / "README.md").read_text(), index.read_text()))
    for page in docs.rglob("*.md"):
        page.write_text(inside(page.read_text(), DOCS / page.relative_to(docs)))
    (docs / "llms.txt").write_text(llms_short(found, docs))
    (docs / "llms-full.txt").write_text(llms_full(found, docs))


def inside(text: str, page: Path) -> str:
    """Return the text of a page, with links to files outside docs as links to the repository."""

    def link(found: re.Match[str]) -> str:
        place = (page.parent / found[2]).resolve()
        if place.is_relative_to(DOCS):
            return found[0]
        kind = "tree" if place.is_dir() else "blob"
        return f"{found[1]}{REPOSITORY}/{kind}/main/{place.relative_to(ROOT)}"

    return _LINK.sub(link, text)


def list_versions(target: Path) -> None:
    """Write what the version selector reads, and a page that leads to the newest version."""
    numbers = [path.name for path in target.iterdir() if re.fullmatch(r"\d+\.\d+", path.name)]
    newest, *older = sorted(numbers, key=lambda it: [int(part) for part in it.split(".")])[::-1]
    listed = [{"version": newest, "title": newest, "aliases": ["latest"]}]
    listed += [{"version": number, "title": number, "aliases": []} for number in older]
    (target / "versions.json").write_text(json.dumps(listed))
    (target / "index.html").write_text(_REDIRECT.format(newest))
