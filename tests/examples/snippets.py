"""Run a snippet of documentation word for word, ``await`` at its top level included."""

import ast
import inspect
from typing import Any


async def run(snippet: str, **names: Any) -> dict[str, Any]:
    """Run a snippet with these names defined, and return all names afterwards."""
    code = compile(snippet, "<snippet>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    answer = eval(code, names)
    if inspect.iscoroutine(answer):
        await answer
    return names
