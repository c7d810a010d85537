"""Measure the code against the house rules, and fail where a limit is exceeded.

``python -m tools.house`` prints every figure; ``python -m tools.house retired-words`` lists what a
figure counts. A limit only ever goes down: lower it in the table when the figure does.
"""

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from statistics import median

from tools.architecture_page import files_of_paths
from tools.public import ROOT, private_imports

SRC = ROOT / "src" / "tenure"
ARCHITECTURE = ROOT / "docs" / "architecture.md"
MAX_FILE = 400  # lines
MAX_SQL_COLUMNS = 110

# Words that no identifier may contain any more, each as a whole word of a name.
RETIRED_WORDS = frozenset(
    (
        *("ailments", "anew", "appetite", "behalf", "bury", "complaint", "crew", "curious"),
        *("customer", "dear", "desk", "desks", "dismiss", "employ", "hear", "hungry", "insist"),
        *("likewise", "look", "looking", "looks", "manner", "mayhap", "meant", "moment"),
        *("moments", "most", "mother", "one", "ours", "placing", "said", "sayings", "seldom"),
        *("staff", "stirs", "told", "unpause", "unsaid", "young"),
    )
)
# Phrases that no comment, docstring, message or page may contain any more.
RETIRED_IDIOMS = (
    *("anew", "seldom", "likewise", "whoever", "mayhap", "goes on", "go on", "went on"),
    *("is said", "nobody knows", "the most to", "for want of", "what one does", "as if by"),
)
NOUN_CLAUSES = ("What", "Who", "Whose", "Whether", "How", "That")


def python_lines() -> list[str]:
    """Return the lines of src that are not blank."""
    return [line for path in _python() for line in path.read_text().splitlines() if line.strip()]


def python_files() -> list[str]:
    return [_name(path) for path in _python()]


def long_python_files() -> list[str]:
    return [f"{_name(path)}: {size}" for path, size in _sizes().items() if size > MAX_FILE]


def sql_lines() -> list[str]:
    """Return the lines of SQL that are not blank."""
    return [line for path in _sql() for line in path.read_text().splitlines() if line.strip()]


def wide_sql_lines() -> list[str]:
    return [
        f"{_name(path)}:{number}: {len(line)} columns"
        for path in _sql()
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) > MAX_SQL_COLUMNS
    ]


def repeated_classes() -> list[str]:
    """Return the names of classes that are defined more than once in src."""
    homes: dict[str, list[str]] = {}
    for path in _python():
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(_name(path))
    return [f"{name}: {', '.join(at)}" for name, at in sorted(homes.items()) if len(at) > 1]


def retired_words() -> list[str]:
    """Return the identifiers of src that contain a retired word, each once for a file."""
    return [
        f"{_name(path)}: {name}"
        for path in (*_python(), *_sql())
        for name in sorted(set(_identifiers(path)))
        if RETIRED_WORDS.intersection(_words(name))
    ]


def retired_idioms() -> list[str]:
    """Return the lines of src, docs, examples and tests that contain a retired phrase."""
    pattern = re.compile(rf"\b({'|'.join(map(re.escape, RETIRED_IDIOMS))})\b", re.IGNORECASE)
    return [
        f"{_name(path)}:{number}: {found[0]}"
        for path in _texts()
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if (found := pattern.search(line))
    ]


def noun_clauses() -> list[str]:
    """Return the docstrings that begin with a noun clause instead of a verb or a noun."""
    found = []
    for path in _python():
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                doc = ast.get_docstring(node) or ""
                if doc.startswith(tuple(f"{word} " for word in NOUN_CLAUSES)):
                    found.append(f"{_name(path)}: {doc.splitlines()[0]}")
    return found


# Each figure: what counts, and the limit. None: it is only printed.
FIGURES: dict[str, tuple[Callable[[], list[str]], int | None]] = {
    "python-lines": (python_lines, 43_000),
    "python-files": (python_files, None),
    "long-python-files": (long_python_files, 0),
    "sql-lines": (sql_lines, None),
    "wide-sql-lines": (wide_sql_lines, 0),
    "repeated-classes": (repeated_classes, 0),
    "retired-words": (retired_words, 0),
    "retired-idioms": (retired_idioms, 0),
    "noun-clauses": (noun_clauses, 0),
    "private-imports": (private_imports, 0),
}


def main(arguments: list[str]) -> int:
    """Print the figures, or list what the named ones count; return 1 where a limit is exceeded."""
    for name in arguments:
        sys.stdout.write("".join(f"{line}\n" for line in FIGURES[name][0]()))
    if arguments:
        return 0
    exceeded = 0
    for name, (find, limit) in FIGURES.items():
        count = len(find())
        is_over = limit is not None and count > limit
        exceeded += is_over
        allowed = "" if limit is None else f"  limit {limit:,}{' EXCEEDED' if is_over else ''}"
        sys.stdout.write(f"{name:20}{count:>8,}{allowed}\n")
    sizes = _sizes()
    longest = ", ".join(f"{_name(path)} {size}" for path, size in Counter(sizes).most_common(3))
    widest = max(map(len, sql_lines()))
    sys.stdout.write(f"median file {median(sizes.values()):.0f} lines; longest: {longest}\n")
    sys.stdout.write(f"longest line of SQL: {widest} columns\n")
    sys.stdout.write("files per path, in docs/architecture.md:\n")
    for title, files in files_of_paths(ARCHITECTURE.read_text()).items():
        sys.stdout.write(f"{title:36}{len(files):>8}\n")
    if exceeded:
        sys.stderr.write("to see what a figure counts: python -m tools.house NAME\n")
    return 1 if exceeded else 0


@cache
def _python() -> list[Path]:
    return sorted(SRC.rglob("*.py"))


@cache
def _sql() -> list[Path]:
    return sorted(SRC.rglob("*.sql"))


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def _sizes() -> dict[Path, int]:
    return {path: len(path.read_text().splitlines()) for path in _python()}


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _texts() -> list[Path]:
    """Return the texts under version control, except those that quote the retired words."""
    folders = ["src", "docs", "examples", "tests", "demo", "bench", "tools", "*.md"]
    files = subprocess.run(  # noqa: S603
        ["git", "ls-files", *folders],  # noqa: S607
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    kinds = {".py", ".sql", ".md", ".html"}
    return [
        path
        for path in map(ROOT.joinpath, files)
        if path.suffix in kinds and path != Path(__file__) and path.exists()
    ]


def _identifiers(path: Path) -> Iterator[str]:
    """Yield the names that a file declares, with its own."""
    yield path.stem
    if path.suffix == ".sql":
        code = re.sub(r"--.*", "", path.read_text())
        yield from re.findall(r"\b[a-z_]\w+\b", re.sub(r"'[^']*'", "", code))
        return
    for node in ast.walk(_tree(path)):
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                yield name
            case ast.AsyncFunctionDef(name=name) | ast.arg(arg=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


def _words(name: str) -> list[str]:
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower().split("_")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
