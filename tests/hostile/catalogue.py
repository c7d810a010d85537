"""Write CATALOGUE.md: `python -m tests.hostile.catalogue`."""

from pathlib import Path

from tests.apps.hostile import beyond, habitual, state
from tests.apps.hostile.habits import HABITS
from tests.apps.hostile.kinds import all_kinds

PLACE = Path(__file__).parent / "CATALOGUE.md"
TITLES = {
    "processes": "Leaves processes",
    "threads": "Leaves threads",
    "loop": "Leaves something in the event loop",
    "hooks": "Leaves hooks in the interpreter",
    "lies": "Hides what it leaves in the event loop",
    "stubborn": "Ignores every request to end",
    "poison": "Harms its runner",
    "state": "Changes its process",
    "limits": "Cannot be reached by a stop",
}

assert beyond  # imported for its kinds
assert habitual  # imported for all habits
assert state  # imported for its kinds


def page() -> str:
    """Return the catalogue: a line for each kind and each habit."""
    kinds = all_kinds().values()
    lines = [
        "# Kinds of hostile code, and ordinary libraries' habits",
        "",
        "Written by `python -m tests.hostile.catalogue` from `tests/apps/hostile/`.",
        f"{len(kinds)} kinds of hostile code and {len(HABITS)} habits.",
    ]
    for group, title in TITLES.items():
        lines += ["", f"## {title}", "", "| kind | executors | |", "|---|---|---|"]
        lines += [
            f"| `{kind.name}` | {', '.join(kind.executors)} | {kind.description} |"
            for kind in kinds
            if kind.group == group
        ]
    lines += ["", "## Ordinary libraries' habits", "", "| habit | |", "|---|---|"]
    for name, use in HABITS.items():
        assert use.__doc__ is not None
        lines.append(f"| `{name}` | {use.__doc__.splitlines()[0]} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PLACE.write_text(page())
