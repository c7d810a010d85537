"""The checks of a task declaration."""

import inspect
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from tenure.control.signature import Signature
from tenure.control.template import Template
from tenure.domain import bounds
from tenure.domain.options import Executor
from tenure.domain.values import refusals_about, shown
from tenure.errors import InputRefused, SettingInvalid

F = TypeVar("F", bound=Callable[..., Any])

_TAKES = {"on_cancel": ("the context", 1), "on_failure": ("the context and the error", 2)}


def read_name(name: Any) -> str:
    if (wrong := bounds.validation_error("task", name)) is not None:
        raise SettingInvalid(f"name: {wrong}")
    return str(name)


def read_executor(executor: Any, function: Callable[..., Any]) -> Executor:
    """Return the executor of a function; async def and def have one each by default."""
    is_async = inspect.iscoroutinefunction(function)
    if is_async and executor in (None, "async"):
        return "async"
    if not is_async and executor in (None, "process"):
        return "process"
    if not is_async and executor == "thread":
        return "thread"
    if executor not in ("async", "process", "thread"):
        raise SettingInvalid(
            f"executor: it takes 'async', 'process' or 'thread', not {shown(executor)}"
        )
    if is_async:
        raise SettingInvalid(
            f"executor: it is an async def, which runs in an event loop ('async'); "
            f"{shown(executor)} is for a def"
        )
    raise SettingInvalid(
        "executor: it is a def, which runs in a 'process' or a 'thread'; 'async' is for an async "
        "def"
    )


def read_template(option: str, text: Any, signature: Signature) -> Template | None:
    """Return a template; refuse fields that are secret or no parameters."""
    if text is None:
        return None
    with refusals_about(option):
        template = Template.read(text)
        template.refuse_unknown(signature.types)
    for field in template.fields:
        if field in signature.secrets:
            raise SettingInvalid(
                f"{option}: {shown(text)} would show {shown(field)}, which is a secret"
            )
    return template


def read_templates(option: str, texts: Any, signature: Signature) -> tuple[Template, ...]:
    """Return templates; a single string is refused, because it would be read letter by letter."""
    if isinstance(texts, str) or not isinstance(texts, Collection):
        raise SettingInvalid(f"{option}: it takes a list of texts, not {shown(texts)}")
    templates = [read_template(option, text, signature) for text in texts]
    if any(template is None for template in templates):
        raise SettingInvalid(f"{option}: it takes a list of texts, not {shown(texts)}")
    return tuple(template for template in templates if template is not None)


def read_argv(name: Any, argv: Any) -> tuple[list[Template], dict[str, Any]]:
    """Return the words of a command, and the types of the parameters in them."""
    with refusals_of(name):
        if isinstance(argv, str) or not isinstance(argv, Sequence) or not argv:
            raise SettingInvalid(
                f"argv: it takes a list of texts, the program first, not {shown(argv)}"
            )
        words = []
        for word in argv:
            if not isinstance(word, str) or "\0" in word:
                raise SettingInvalid(f"argv: {shown(word)} cannot be the argument of a program")
            with refusals_about("argv"):
                words.append(Template.read(word) if word else Template("", ()))
        if words[0].fields or not words[0].text:
            raise SettingInvalid(
                f"argv: {shown(argv[0])} is to be the program, which cannot be empty or a parameter"
            )
        return words, {field: str | int | float for word in words for field in word.fields}


@contextmanager
def refusals_of(name: Any, kind: str = "task") -> Iterator[None]:
    """Put the name of the task or schedule in front of a refusal."""
    try:
        yield
    except (InputRefused, SettingInvalid) as why:
        raise SettingInvalid(f"{kind} {shown(name)}: {why}") from None


def hooked(hooks: dict[str, Callable[..., Any]], kind: str, hook: F) -> F:
    """Register a hook; there is one of each kind."""
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
