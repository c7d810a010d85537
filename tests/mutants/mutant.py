"""What a mutant is."""

import re
from dataclasses import dataclass, replace
from pathlib import Path

from tenure.domain.tenant import DEFAULT
from tenure.store import schema

SCRIPT = "script"  # the whole migration, for what stands in no file


class Stale(Exception):
    """The text that a mutant changes is not where it was."""


@dataclass(frozen=True)
class Mutant:
    """A guard taken out: in this file, this text, by that; and who must notice."""

    name: str
    file: str  # "verbs/tenant/claim", "migrations/tenant/0001_...", or SCRIPT
    changes: tuple[tuple[str, str], ...]
    killed_by: tuple[str, ...]  # "claim::test_...", "races/claims::test_...": one of them fails

    @property
    def tests(self) -> tuple[str, ...]:
        """Who kills it, as pytest takes it."""
        return tuple(_place(test) for test in self.killed_by)

    def and_also(self, find: str, put: str) -> "Mutant":
        """The same with one more change, for guards that stand behind one another."""
        return replace(self, changes=(*self.changes, (find, put)))

    def applied(self, text: str) -> str:
        for find, put in self.changes:
            text, times = _flowing(find).subn(put.replace("\\", "\\\\"), text)
            if times == 0 or (times > 1 and self.file != SCRIPT):
                raise Stale(f"{self.name}: {find!r} stands {times} times in {self.file}")
        return text


def mutant(name: str, verb: str, find: str, put: str, *killed_by: str) -> Mutant:
    """A change of a verb; one of the control schema has the prefix "control/"."""
    kind, _, rest = verb.rpartition("/")
    return Mutant(name, f"verbs/{kind or 'tenant'}/{rest}", ((find, put),), killed_by)


def _flowing(find: str) -> re.Pattern[str]:
    """The text wherever its lines are broken."""
    return re.compile(r"\s+".join(re.escape(word) for word in re.split(r"\s+", find)))


def _place(test: str) -> str:
    path, _, name = test.partition("::")
    folder, _, file = path.rpartition("/")
    if file == "guards":
        return f"tests/mutants/test_guards.py::{name}"
    return str(Path("tests/store", folder, f"test_{file}.py")) + f"::{name}"


def text_of(file: str) -> str:
    """The text a mutant changes, as it is now."""
    if file == SCRIPT:
        return schema.script(DEFAULT)
    folder, kind, name = file.split("/")
    return dict(schema._files(folder, kind))[name]
