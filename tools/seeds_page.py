"""Generate the page of requirements, with the tests that prove each."""

from tools.blocks import table
from tools.requirements import Document, Requirement, documents

HEAD = """\
# What the five systems ask for, and what shows it

Tenure grew from descriptions of five systems. Every requirement in them stands here in a sentence,
with the tests that fail if it does not hold. Where Tenure differs on purpose, the line says how the
wish is honoured, and its link says why. `S0` to `S4` number the documents. [Names](names.md) has
what each of their names is here.

This page is made from `tools/requirements/` by `make docs`."""


def seeds_page() -> str:
    found = documents()
    contents = "\n".join(f"- [{it.title}](#{_anchor(it)}): {_counted(it)}." for it in found)
    return "\n\n".join([HEAD, contents, *map(_section, found)]) + "\n"


def _section(document: Document) -> str:
    rows = [
        (number, _meaning(it), "<br>".join(map(_link, it.tests)))
        for number, it in document.requirements.items()
    ]
    example = document.example
    built = f"Built in [examples/{example}](../examples/{example}/README.md)."
    heads = ("", "requirement", "shown by")
    return f"## {document.title}\n\n{built}\n\n{table(heads, *rows)}"


def _counted(document: Document) -> str:
    all_ = document.requirements.values()
    differing = sum(it.differs is not None for it in all_)
    return f"{len(all_)} requirements, of which {differing} are met in another way"


def _meaning(it: Requirement) -> str:
    if it.differs is not None:
        return f"{it.says} **Differs**: {it.differs} [Why]({it.page})"
    return f"{it.says} [Page]({it.page})" if it.page else it.says


def _link(test: str) -> str:
    """Return a link to the file of a test; the text is its claim."""
    file, _, name = test.partition("::")
    return f"[{name.removeprefix('test_').replace('_', ' ')}](../tests/{file})"


def _anchor(document: Document) -> str:
    return document.title.lower().replace(" ", "-")
