"""A mutant: a guard removed from one file below src/tenure, and the tests that must notice."""

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "tenure"
_VERBS = {
    (kind, file.stem): str(file.relative_to(SOURCE))
    for kind in ("control", "tenant")
    for file in (SOURCE / "store" / "verbs" / kind).rglob("*.sql")
}


class Stale(Exception):
    """The text that a mutant changes is not in its file, or is there more than once."""


@dataclass(frozen=True)
class Mutant:
    """A guard taken out: in this file, this text, by that; and who must notice."""

    name: str
    file: str  # below src/tenure: "store/verbs/tenant/claim/claim.sql", "runtime/keeper/lease.py"
    changes: tuple[tuple[str, str], ...]
    killed_by: tuple[str, ...]  # one of them must fail; see _place for the short forms

    @property
    def tests(self) -> tuple[str, ...]:
        """Who kills it, as pytest takes it."""
        return tuple(_place(test) for test in self.killed_by)

    def and_also(self, find: str, put: str) -> "Mutant":
        """The same with one more change, for guards that stand behind one another."""
        return replace(self, changes=(*self.changes, (find, put)))

    def text(self) -> str:
        """Return the text of its file with the guard removed."""
        place = SOURCE / self.file
        if not place.is_file():
            raise Stale(f"{self.name}: there is no file src/tenure/{self.file}")
        text = place.read_text()
        for find, put in self.changes:
            text, times = _flowing(find).subn(put.replace("\\", "\\\\"), text)
            if times != 1:
                raise Stale(f"{self.name}: {find!r} is {times} times in {self.file}, not once")
        return text


def mutant(name: str, verb: str, find: str, put: str, *killed_by: str) -> Mutant:
    """Change a verb of the tenant; a verb of the control schema has the prefix "control/"."""
    kind, _, rest = verb.rpartition("/")
    file = _VERBS.get((kind or "tenant", rest), f"store/verbs/{verb}.sql")
    return Mutant(name, file, ((find, put),), killed_by)


def python_mutant(name: str, file: str, find: str, put: str, *killed_by: str) -> Mutant:
    """Change a Python file below src/tenure: ``"runtime/keeper/lease.py"``.

    White space in ``find`` matches any white space; ``put`` is inserted as it is, so the second
    and later lines of it need their indentation.
    """
    return Mutant(name, file, ((find, put),), killed_by)


def _flowing(find: str) -> re.Pattern[str]:
    """The text wherever its lines are broken."""
    return re.compile(r"\s+".join(re.escape(word) for word in re.split(r"\s+", find)))


def _place(test: str) -> str:
    """Return what pytest calls a test.

    Short forms: "claim::test_x" is in tests/store/test_claim.py, "races/claims::test_x" in
    tests/store/races/test_claims.py, "guards::test_x" in tests/mutants/test_guards.py.
    """
    path, _, name = test.partition("::")
    if path.startswith("tests/"):
        return test
    folder, _, file = path.rpartition("/")
    if file == "guards":
        return f"tests/mutants/test_guards.py::{name}"
    return str(Path("tests/store", folder, f"test_{file}.py")) + f"::{name}"


@contextmanager
def mutated_copy(mutant: Mutant) -> Iterator[Path]:
    """Yield a folder with a copy of the package in it that lacks the guard.

    First on PYTHONPATH, it is imported by a test and by every Python process that the test starts.
    """
    with tempfile.TemporaryDirectory(prefix="tenure-mutant-") as folder:
        # With the compiled files: the times of their sources are copied too, so they stay valid.
        copy = shutil.copytree(SOURCE, Path(folder, "tenure"))
        (copy / mutant.file).write_text(mutant.text())
        yield Path(folder)
