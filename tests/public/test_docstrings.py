"""Every public name has a docstring that an editor can show."""

import inspect
import re
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import pytest
from tools import public
from tools.docs import public_verbs

# A function does something: its first sentence begins with the verb.
NOT_A_VERB = re.compile(
    r"(a|all|an|as|by|each|every|for|from|how|if|in|its?|no|none|not|of|on|one|that|the|their|there"
    r"|these|this|those|to|what|when|where|whether|which|who|whose|why|with|your)\b",
    re.IGNORECASE,
)
VERBS = frozenset(public_verbs())  # the head of each SQL file says what it does
TWIN = "Async version of ``"


def functions() -> Iterator[tuple[str, str | None]]:
    """Yield the docstring of every public function, method and property, by its full name."""
    for module, names in public.names().items():
        for name, value in names.items():
            if isinstance(value, FunctionType) and not _is_verb(module, name):
                yield f"{module}.{name}", value.__doc__
            elif inspect.isclass(value):
                for member, doc in _members(value).items():
                    if not _is_verb(module, member):
                        yield f"{module}.{name}.{member}", doc


def classes() -> Iterator[tuple[str, type]]:
    for module, names in public.names().items():
        for name, value in names.items():
            if inspect.isclass(value):
                yield f"{module}.{name}", value


def _members(cls: type) -> dict[str, str | None]:
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("tenure"):
            found |= vars(base)
    functions = {name: getattr(value, "__func__", value) for name, value in found.items()}
    return {
        name: _inherited(cls, name)
        for name, value in functions.items()
        if isinstance(value, FunctionType | property) and not name.startswith("_")
    }


def _inherited(cls: type, name: str) -> str | None:
    """Return the docstring of a member, or of what it overrides, as editors do."""
    found = (vars(base)[name] for base in cls.__mro__ if name in vars(base))
    return next((it.__doc__ for it in found if it.__doc__), None)


def _is_verb(module: str, name: str) -> bool:
    return module == "tenure.verbs" and name in VERBS


def complaint(doc: str | None) -> str | None:
    """Return what is wrong with the docstring of a function, or None."""
    first = (inspect.cleandoc(doc or "").splitlines() or [""])[0]
    if not first:
        return "has no docstring"
    if first.startswith(TWIN):
        return None
    if NOT_A_VERB.match(first):
        return f"does not begin with a verb: {first}"
    return None if first.endswith((".", "?")) or ":" in first else f"is no sentence: {first}"


def test_every_public_function_says_what_it_does() -> None:
    found = {name: complaint(doc) for name, doc in functions()}
    assert {name: why for name, why in found.items() if why is not None} == {}


def test_every_public_class_says_what_it_is() -> None:
    docs = {name: vars(cls).get("__doc__") or "" for name, cls in classes()}
    made = {name for name, doc in docs.items() if doc.startswith(name.split(".")[-1] + "(")}
    assert {name for name, doc in docs.items() if not doc.strip()} | made == set()
    assert [doc for doc in docs.values() if re.match(r"(What|Who|Whose|Whether|How)\b", doc)] == []


@pytest.mark.parametrize(
    "doc", [None, "", "The job once it has ended.", "What it returned.", "Return it"]
)
def test_a_docstring_that_says_too_little_is_noticed(doc: str | None) -> None:
    assert complaint(doc) is not None
