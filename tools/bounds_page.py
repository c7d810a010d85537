"""Generate the tables of bounds."""

from tenure.domain.bounds import GROUPS
from tools.blocks import filled, table


def bounds_page(page: str) -> str:
    parts = []
    for title, group in GROUPS.items():
        rows = [(f"`{name}`", bound.words) for name, bound in group.items()]
        parts += [f"### {title}", table(("Field", "Takes"), *rows)]
    return filled(page, "bounds", "\n\n".join(parts))
