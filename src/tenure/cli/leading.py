"""Options that many commands take may stand before the command: ``tenure --url URL job list``."""

from collections.abc import Sequence
from typing import Any

# Whether an option is followed by its value.
COMMON = {
    "--url": True,
    "--tenant": True,
    "--token": True,
    "--json": False,
    "--verbose": False,
    "-v": False,
}


def behind_command(program: Any, words: Sequence[str]) -> list[str]:
    """Return the words with these options behind the command, which says whether it takes them."""
    left, path, moved = list(words), [], []
    group = program
    while left:
        name, sign, _ = left[0].partition("=")
        if name in COMMON:
            length = 2 if COMMON[name] and not sign else 1
            moved += left[:length]
            del left[:length]
        elif left[0].startswith("-"):
            break
        else:
            path.append(left.pop(0))
            group = getattr(group, "commands", {}).get(path[-1])
            if not hasattr(group, "commands"):
                break
    return [*path, *moved, *left] if path else left or list(words)
