"""Generate pages from the code: verbs, commands, the life of a job, the reference, proofs."""

import re
import sys
from pathlib import Path

from tools import links
from tools.architecture_page import architecture_page
from tools.blocks import filled
from tools.bounds_page import bounds_page
from tools.cli_page import commands
from tools.errors_page import errors_page
from tools.life_page import life_page
from tools.metrics_page import metrics_page
from tools.python_page import python_page
from tools.seeds_page import seeds_page
from tools.settings_page import settings_page

ROOT = Path(__file__).parent.parent
VERBS = ROOT / "src" / "tenure" / "store" / "verbs"
VIEW = "jobs"  # a view, not a function

# Pages of which parts are generated, between marks.
PAGES = {
    "architecture": architecture_page,
    "cli": lambda page: filled(page, "commands", commands()),
    "life-of-a-job": life_page,
    "monitoring": metrics_page,
    "reference/bounds": bounds_page,
    "reference/exit-codes": errors_page,
    "reference/python": python_page,
    "reference/settings": settings_page,
}

# The titles of the folders of verbs, in the order of the page.
SUBJECTS = {
    "tenant/enqueue": "Enqueue jobs",
    "tenant/promote": "Promote jobs that became ready",
    "tenant/claim": "Claim jobs",
    "tenant/finish": "Report and finish attempts",
    "tenant/steps": "Steps, events and questions",
    "tenant/stop": "Stop jobs",
    "tenant/resume": "Resume and rerun jobs",
    "tenant/bulk": "Bulk operations",
    "tenant/capacity": "Pools, targets and paused dispatch",
    "tenant/limit": "Limits",
    "tenant/strategy": "Strategies",
    "tenant/policy": "Policies",
    "tenant/read": "Query jobs",
    "tenant/inspect": "Inspect running jobs",
    "tenant/metrics": "Statistics",
    "tenant/catalog": "The catalogue of tasks",
    "tenant/recover": "Recover jobs",
    "tenant/upkeep": "Retention",
    "tenant/webhook": "Webhooks",
    "tenant/access": "Tokens and audit log",
    "control/worker": "Workers",
    "control/recover": "Dead workers",
    "control/catalog": "Announced tasks",
    "control/access": "Sessions",
    "control/read": "The server, its tenants and workers",
}


def public_verbs() -> dict[str, str]:
    """Return the text of every public verb by its name."""
    return {name: text for verbs in _verbs_by_folder().values() for name, text in verbs.items()}


def _verbs_by_folder() -> dict[str, dict[str, str]]:
    folders: dict[str, dict[str, str]] = {folder: {} for folder in SUBJECTS}
    for path in sorted(VERBS.rglob("*.sql")):
        if "helpers" not in path.parts and path.stem != VIEW:
            folders[path.parent.relative_to(VERBS).as_posix()][path.stem] = path.read_text()
    return folders


def verbs_page() -> str:
    lines = [
        "# The verbs in SQL",
        "",
        "Every verb is one function in the tenant's schema (`tenure` for the default tenant),",
        "takes named arguments and answers with one JSON value. The Python store has the same",
        "names. This page is made from the files in `src/tenure/store/verbs/` by `make docs`.",
    ]
    for folder, verbs in _verbs_by_folder().items():
        lines += ["", f"## {SUBJECTS[folder]}"]
        for name, text in verbs.items():
            lines += ["", f"### {name}", "", *_verb(text)]
    return "\n".join(lines) + "\n"


def _verb(text: str) -> list[str]:
    comment = re.match(r"(?:--.*\n)+", text)
    function = re.search(r"FUNCTION (?:tenant|tenure)\.(\w+\([\s\S]*?\))\s+RETURNS", text)
    assert comment
    assert function
    words = [line.removeprefix("--").removeprefix(" ") for line in comment[0].splitlines()]
    signature = re.sub(r"\s+", " ", function[1]).replace("( ", "(").replace(" )", ")")
    return ["```sql", f"tenure.{signature}", "```", "", *words]


def pages() -> dict[Path, str]:
    """Return the text of every page that is generated in whole or in part."""
    docs = ROOT / "docs"
    made = {docs / "verbs.md": verbs_page(), docs / "seeds.md": seeds_page()}
    for name, make in PAGES.items():
        path = docs / f"{name}.md"
        made[path] = make(path.read_text())
    return made


def main() -> int:
    """Write the pages and check all links; with --check only report pages that are out of date."""
    made = pages()
    stale = [path for path, text in made.items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv:
        for path in stale:
            sys.stderr.write(f"{path.relative_to(ROOT)} is out of date; run: make docs\n")
        return 1 if stale else links.main()
    for path in stale:
        path.write_text(made[path])
    return links.main()


if __name__ == "__main__":
    sys.exit(main())
