"""Generate the tables of errors, exit codes and HTTP status."""

import inspect
from typing import TypeGuard

from tenure import errors
from tenure.cli.job.stop_progress import NOT_CONFIRMED
from tenure.errors import TenureError
from tenure.runtime.exit_code import ExitCode
from tools.blocks import filled, table
from tools.source import fields_of


def errors_page(page: str) -> str:
    classes = [it for it in vars(errors).values() if _is_ours(it)]
    page = filled(page, "errors", _errors(classes))
    page = filled(page, "codes", _codes(classes))
    return filled(page, "worker", _of_a_worker())


def _errors(classes: list[type[TenureError]]) -> str:
    rows = [
        (
            f"{'&nbsp;&nbsp;' * _depth(it)}`{it.__name__}`",
            str(it.exit_code),
            str(it.http_status),
            _meaning(it),
        )
        for it in sorted(classes, key=_path)
    ]
    return table(("error", "exit code", "HTTP status", ""), *rows)


def _codes(classes: list[type[TenureError]]) -> str:
    """Return the exit codes of errors; an error without its own has 1."""
    by_code: dict[int, list[str]] = {}
    for it in classes:
        by_code.setdefault(it.exit_code, []).append(f"`{it.__name__}`")
    rows = [(str(code), ", ".join(names)) for code, names in sorted(by_code.items()) if code > 1]
    last = (str(NOT_CONFIRMED), "a cancellation that was waited for ended `partial` or `failed`")
    return table(("code", "meaning"), *rows, last)


def _of_a_worker() -> str:
    rows = [(str(int(ExitCode[it.name])), it.meaning or "an error") for it in fields_of(ExitCode)]
    return table(("code", "meaning"), *rows)


def _is_ours(it: object) -> TypeGuard[type[TenureError]]:
    return inspect.isclass(it) and issubclass(it, TenureError) and it is not TenureError


def _path(cls: type) -> tuple[int, ...]:
    """Return its place in the tree of classes, in the order of the source."""
    order = list(vars(errors).values())
    return tuple(order.index(it) for it in reversed(cls.__mro__) if it in order and _is_ours(it))


def _depth(cls: type) -> int:
    return len(_path(cls)) - 1


def _meaning(cls: type) -> str:
    return (cls.__doc__ or "").partition("\n")[0].rstrip(".")
