"""What is looked at when a task is declared."""

import hashlib
import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from tenure.control.signature import Signature
from tenure.control.template import Template
from tenure.domain.job import JSON
from tenure.domain.task import Executor
from tenure.errors import InputRefused, SettingInvalid

F = TypeVar("F", bound=Callable[..., Any])

LONGEST_NAME = 500  # characters; the database refuses more
_TAKES = {"on_cancel": ("the context", 1), "on_failure": ("the context and the error", 2)}


def read_name(name: Any) -> str:
    if not isinstance(name, str) or not name or len(name) > LONGEST_NAME:
        raise SettingInvalid(f"name: it takes a text of 1 to {LONGEST_NAME} characters")
    return name


def read_executor(executor: Any, function: Callable[..., Any]) -> Executor:
    """The executor of a function; async def and def have one each by default."""
    is_async = inspect.iscoroutinefunction(function)
    if is_async and executor in (None, "async"):
        return "async"
    if not is_async and executor in (None, "process"):
        return "process"
    if not is_async and executor == "thread":
        return "thread"
    if executor not in ("async", "process", "thread"):
        raise SettingInvalid(f"executor: it takes 'async', 'process' or 'thread', not {executor!r}")
    if is_async:
        raise SettingInvalid(
            f"executor: it is an async def, which runs in an event loop ('async'); "
            f"{executor!r} is for a def"
        )
    raise SettingInvalid(
        "executor: it is a def, which runs in a 'process' or a 'thread'; 'async' is for an async "
        "def"
    )


def read_template(option: str, text: Any, signature: Signature) -> Template | None:
    """A template whose fields are parameters, and not secret ones."""
    if text is None:
        return None
    try:
        template = Template.read(text)
        template.refuse_unknown(signature.types)
    except SettingInvalid as why:
        raise SettingInvalid(f"{option}: {why}") from None
    for field in template.fields:
        if field in signature.secrets:
            raise SettingInvalid(f"{option}: {text!r} would show {field!r}, which is a secret")
    return template


def read_argv(name: Any, argv: Any) -> tuple[list[Template], dict[str, Any]]:
    """The words of a command, and the types of the parameters in them."""
    with refusals_of(name):
        if isinstance(argv, str) or not isinstance(argv, Sequence) or not argv:
            raise SettingInvalid(f"argv: it takes a list of texts, the program first, not {argv!r}")
        words = []
        for word in argv:
            if not isinstance(word, str) or "\0" in word:
                raise SettingInvalid(f"argv: {word!r} cannot be the argument of a program")
            try:
                words.append(Template.read(word) if word else Template("", ()))
            except SettingInvalid as why:
                raise SettingInvalid(f"argv: {why}") from None
        if words[0].fields or not words[0].text:
            raise SettingInvalid(
                f"argv: {argv[0]!r} is to be the program, which cannot be empty or a parameter"
            )
        return words, {field: str | int | float for word in words for field in word.fields}


@contextmanager
def refusals_of(name: Any, kind: str = "task") -> Iterator[None]:
    """Say of what a refusal speaks."""
    try:
        yield
    except (SettingInvalid, InputRefused) as why:
        raise SettingInvalid(f"{kind} {name!r}: {why}") from None


def hooked(hooks: dict[str, Callable[..., Any]], kind: str, hook: F) -> F:
    """Register the one hook of a kind."""
    what, count = _TAKES[kind]
    if kind in hooks:
        raise SettingInvalid(f"{kind}: there is a hook already")
    try:
        inspect.signature(hook).bind(*range(count))
    except TypeError:
        raise SettingInvalid(
            f"{kind}: the hook is called with {what}, and takes something else"
        ) from None
    hooks[kind] = hook
    return hook


def digest(told: Mapping[str, JSON], function: Callable[..., Any]) -> str:
    """The same for the same task, in every process."""
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):
        source = ""
    return hashlib.sha256(json.dumps([told, source], sort_keys=True).encode()).hexdigest()
