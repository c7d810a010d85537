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

GROUPS = {
    "Jobs on their way in": (*("enqueue", "enqueue_many", "enqueue_reserved", "queue", "promote"),),
    "What workers say": (
        *(
            "register",
            "announce",
            "renew",
            "read_signals",
            "tenant_activity",
            "drain",
            "leave",
            "claim",
            "held",
        ),
        *("finish", "exchange", "report", "crash", "release", "waiting_priority", "end_session"),
        *("completed", "note_reached", "fail_records", "answer_inspection"),
    ),
    "What people do": (
        *(
            "stop",
            "step",
            "close_record",
            "resume",
            "clear",
            "rerun",
            "pause_dispatch",
            "resume_dispatch",
        ),
        *("rollback", "create_pool", "change_slots", "release_slot"),
        *("set_strategy", "drop_strategy", "create_token", "revoke_token", "refuse"),
        *("log_in", "create_login_code", "log_in_by_code", "log_out", "session_principal"),
        *("set_policy", "drop_policy", "bulk_stop", "bulk_resume", "bulk_rerun", "inspect"),
        *("end_runner", "announce_tasks"),
    ),
    "Keeping house": (
        *("recover", "sweep", "declare_dead", "prune", "prune_records", "roll_up", "admit"),
        *("enforce_policies", "advance_bulk", "discards", "discarded"),
    ),
    "Looking": (
        *("show", "list_jobs", "job_with_key", "explain", "statistics", "totals", "history"),
        *(
            "cancellation",
            "cancellations",
            "audit_log",
            "job_output",
            "inspection",
            "runners",
            "pools",
        ),
        *("workers", "stops"),
        *("diagnose", "server", "newest_migrations"),
        *("targets", "strategies", "tokens", "principal", "whoami", "tenants", "movements"),
        *("policies", "bulk_preview", "bulk", "bulks", "tasks"),
    ),
}


def public_verbs() -> dict[str, str]:
    """Return the text of every public verb by its name."""
    files = [path for path in VERBS.rglob("*.sql") if "helpers" not in path.parts]
    return {path.stem: path.read_text() for path in sorted(files) if path.stem != VIEW}


def verbs_page() -> str:
    found = public_verbs()
    public = set(found)
    listed = {name for names in GROUPS.values() for name in names}
    if public != listed:
        raise SystemExit(f"not in exactly one group: {', '.join(sorted(public ^ listed))}")
    lines = [
        "# The verbs in SQL",
        "",
        "Every verb is one function in the tenant's schema (`tenure` for the default tenant),",
        "takes named arguments and answers with one JSON value. The Python store has the same",
        "names. This page is made from the files in `src/tenure/store/verbs/` by `make docs`.",
    ]
    for group, names in GROUPS.items():
        lines += ["", f"## {group}"]
        for name in names:
            lines += ["", f"### {name}", "", *_verb(found[name])]
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
