"""Write the parts of the documentation that the code already says: verbs, diagram, commands."""

import re
import sys
from pathlib import Path

from tenure.domain.lifecycle import diagram
from tools.cli_page import commands

ROOT = Path(__file__).parent.parent
VERBS = ROOT / "src" / "tenure" / "store" / "verbs"
PUBLIC = "SECURITY DEFINER"

GROUPS = {
    "Jobs on their way in": ("enqueue", "enqueue_many", "queue", "promote"),
    "What workers say": (
        *("register", "renew", "drain", "leave", "claim", "held"),
        *("finish", "exchange", "report", "crash", "release", "waiting_priority", "end_session"),
        "completed",
    ),
    "What people do": (
        *("stop", "step", "close_record", "resume", "clear", "rerun", "pause", "unpause"),
        *("rollback", "create_pool", "change_slots", "release_slot"),
        *("set_strategy", "drop_strategy", "create_token", "revoke_token", "refuse"),
        *("set_policy", "drop_policy", "bulk_stop"),
    ),
    "Keeping house": (
        *("recover", "bury", "prune", "prune_records", "admit"),
        *("enforce_policies", "advance_bulk", "discards", "discarded"),
    ),
    "Looking": (
        *("show", "list_jobs", "explain", "statistics", "totals", "cancellation", "cancellations"),
        *("trail", "kept", "pools", "workers", "stops", "ailments", "server"),
        *("targets", "strategies", "tokens", "principal", "whoami", "tenants", "movements"),
        *("policies", "bulk_preview", "bulk", "bulks"),
    ),
}


def verbs_page() -> str:
    found = {path.stem: path.read_text() for path in VERBS.glob("*/*.sql")}
    public = {name for name, text in found.items() if PUBLIC in text} | {"admit"}
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
    function = re.search(r"FUNCTION (?:tenant|tenure)\.(\w+\([\s\S]*?\)) RETURNS", text)
    assert comment
    assert function
    words = [line.removeprefix("--").removeprefix(" ") for line in comment[0].splitlines()]
    signature = re.sub(r"\s+", " ", function[1]).replace("( ", "(").replace(" )", ")")
    return ["```sql", f"tenure.{signature}", "```", "", *words]


def life_page(page: str) -> str:
    made = f"-->\n\n```mermaid\n{diagram().strip()}\n```\n\n<!-- /diagram"
    return re.sub(r"(?<=`make docs` )-->[\s\S]*?<!-- /diagram", lambda _: made, page)


def cli_page(page: str) -> str:
    made = f"-->\n\n{commands()}\n\n<!-- /commands"
    return re.sub(r"(?<=`make docs` )-->[\s\S]*?<!-- /commands", lambda _: made, page)


def main() -> int:
    """Write the pages, or with --check say whether they are what the code says."""
    life, cli = ROOT / "docs" / "life-of-a-job.md", ROOT / "docs" / "cli.md"
    pages = {
        ROOT / "docs" / "verbs.md": verbs_page(),
        life: life_page(life.read_text()),
        cli: cli_page(cli.read_text()),
    }
    stale = [path for path, text in pages.items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv:
        for path in stale:
            sys.stderr.write(
                f"{path.relative_to(ROOT)} is not what the code says; run: make docs\n"
            )
        return 1 if stale else 0
    for path in stale:
        path.write_text(pages[path])
    return 0


if __name__ == "__main__":
    sys.exit(main())
