"""The parts of a page that are made from the code: between two marks, beside what people write."""

import re


def filled(page: str, name: str, made: str) -> str:
    """The page with what is made between ``<!-- name: ... -->`` and ``<!-- /name -->``."""
    marks = re.compile(rf"(<!-- {name}: [^\n]*-->)[\s\S]*?(<!-- /{name} -->)")
    if len(marks.findall(page)) != 1:
        raise SystemExit(f"a page needs one pair of marks for {name}")
    return marks.sub(lambda found: f"{found[1]}\n\n{made.strip()}\n\n{found[2]}", page)


def table(*rows: tuple[str, ...]) -> str:
    """A table in Markdown; the first row is its head."""
    lines = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    head, *body = (f"| {' | '.join(line)} |" for line in lines)
    return "\n".join([head, "|" + "---|" * len(rows[0]), *body])
