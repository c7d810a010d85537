"""Fill the generated parts of a page, which are between two marks."""

import re


def filled(page: str, name: str, made: str) -> str:
    """Return the page with this text between ``<!-- name: ... -->`` and ``<!-- /name -->``."""
    marks = re.compile(rf"(<!-- {name}: [^\n]*-->)[\s\S]*?(<!-- /{name} -->)")
    if len(marks.findall(page)) != 1:
        raise SystemExit(f"a page needs one pair of marks for {name}")
    return marks.sub(lambda found: f"{found[1]}\n\n{made.strip()}\n\n{found[2]}", page)


def table(*rows: tuple[str, ...]) -> str:
    """Return a table in Markdown; the first row is its head."""
    lines = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    head, *body = (f"| {' | '.join(line)} |" for line in lines)
    return "\n".join([head, "|" + "---|" * len(rows[0]), *body])
