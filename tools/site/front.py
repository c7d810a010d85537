"""The front page of the site, made from the README, so that nothing is written twice."""

import re

_PAGE = """---
title: Tenure
hide: [navigation, toc]
---

<div class="hero" markdown>
<div class="hero-words" markdown>

# Tenure

{sentence}

{promises}

[Start in fifteen minutes](tutorial.md){{ .md-button .md-button--primary }}
[Concepts on one page](concepts.md){{ .md-button }}

</div>
<div class="hero-code" markdown>

{code}

{commands}

</div>
</div>

![{shown}]({picture})

## Compared with others

{table}

{below}
"""


def front_page(readme: str, index: str) -> str:
    """Return the front page: what the README promises and shows, then the index."""
    shown, picture = _first(r"!\[([^\]]*)\]\(docs/([^)]+)\)", readme)
    sentence, promises = _first(r"^# Tenure\n\n(.+?)\n\n((?:(?:-|  )[^\n]+\n)+)", readme)
    code = _first(r"^(```python\n# jobs.py\n.+?^```)$", readme)[0]
    commands = _first(r"^(```console\n\$ pip install .+?^```)$", readme)[0]
    table = _first(r"^## Comparison\n.+?\n\n(\|.+?)\n\n", readme)[0]
    return _PAGE.format(
        sentence=sentence,
        promises=promises,
        code=code,
        commands=commands,
        shown=shown,
        picture=picture,
        table=table.replace("](docs/", "]("),
        below=re.sub(r"^# .+\n", "## All pages\n", index, count=1).replace("\n## ", "\n### "),
    )


def _first(pattern: str, text: str) -> tuple[str, ...]:
    found = re.search(pattern, text, re.MULTILINE | re.DOTALL)
    assert found is not None, f"the README has no {pattern}"
    return found.groups()
