"""Read the source: comments behind fields, signatures as written, docstrings."""

import ast
import inspect
import io
import textwrap
import tokenize
from dataclasses import dataclass
from typing import Any, get_overloads

import msgspec

MAX_COLUMNS = 96
_INDENT = " " * 4
_FENCE = "```\n\n"


@dataclass(frozen=True)
class Field:
    """A line of a class body: ``name: kind = default  # meaning``."""

    name: str
    kind: str
    default: str
    meaning: str
    group: str  # the comment above it that ends in a full stop, as a heading


def fields_of(cls: type) -> list[Field]:
    """Return the fields of a class with the comments behind them, those of its bases first."""
    bases = [base for base in reversed(cls.__mro__[1:]) if _is_struct(base)]
    return [field for base in (*bases, cls) for field in own_fields_of(base)]


def _is_struct(base: type) -> bool:
    return issubclass(base, msgspec.Struct) and base.__module__.startswith("tenure.")


def own_fields_of(cls: type) -> list[Field]:
    source = _source(cls)
    comments, headings = _comments(source)
    found, group = [], ""
    for node in _body(source):
        group = headings.get(node.lineno - 1, group)
        meaning = comments.get(node.end_lineno or node.lineno, "")
        match node:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=kind, value=value):
                default = "" if value is None else ast.unparse(value)
                found.append(Field(name, ast.unparse(_plain(kind)), default, meaning, group))
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found.append(Field(name, "", ast.unparse(value), meaning, group))
    return [field for field in found if not field.name.startswith("_")]


def _plain(kind: ast.expr) -> ast.expr:
    """Return an annotation without what Annotated adds to it."""
    match kind:
        case ast.Subscript(value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[plain, *_])):
            return plain
        case _:
            return kind


def attributes_of(cls: type) -> list[Field]:
    """Return the attributes that ``__init__`` sets, with the comments behind them."""
    source = _source(cls)
    comments, _ = _comments(source)
    found = []
    written = [node for node in _body(source) if _named(node) == "__init__"]  # none: a dataclass
    for node in (inner for method in written for inner in ast.walk(method)):
        match node:
            case ast.Assign(targets=[target]) | ast.AnnAssign(target=target):
                if isinstance(target, ast.Attribute) and not target.attr.startswith("_"):
                    meaning = comments.get(node.end_lineno or node.lineno, "")
                    found.append(Field(target.attr, "", "", meaning, ""))
    return found


def signatures_of(function: Any) -> list[str]:
    """Return the signature of a function as written, or those of its overloads.

    Of overloads that differ only in the types of their arguments, the last counts: it is the most
    general one.
    """
    overloads = get_overloads(inspect.unwrap(function))
    if not overloads:
        return [signature_of(function)]
    by_form = {(_form(overload)): signature_of(overload) for overload in overloads}
    return list(by_form.values())


def _form(function: Any) -> tuple[str, ...]:
    found = inspect.signature(function)
    return (*found.parameters, str(found.return_annotation))


def signature_of(function: Any) -> str:
    """Return ``name(a: int, b: str = "x") -> int``, as it was written, without ``self``."""
    [node] = ast.parse(_source(inspect.unwrap(function))).body
    assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    arguments = _arguments(node.args)
    returned = ast.unparse(node.returns).strip(chr(39)) if node.returns else ""
    if any(ast.unparse(it).startswith("verb(") for it in node.decorator_list):
        returned = f"Call[{returned}]"
    if "performed" in map(ast.unparse, node.decorator_list):
        returned = returned.removeprefix("Operation[").removesuffix("]").replace("'", "")
    returns = f" -> {returned}" if returned else ""
    begin = "await " if inspect.iscoroutinefunction(function) else ""
    short = f"{begin}{function.__name__}({', '.join(arguments)}){returns}"
    if len(short) <= MAX_COLUMNS:
        return short
    lines = "".join(f"    {argument},\n" for argument in arguments)
    return f"{begin}{function.__name__}(\n{lines}){returns}"


def text_of(thing: Any) -> str:
    """Return the docstring in Markdown: a paragraph to a line, indented paragraphs as code."""
    text = ""
    for paragraph in inspect.cleandoc(thing.__doc__ or "").split("\n\n"):
        if not paragraph.startswith(_INDENT):
            text += " ".join(paragraph.split()).replace("``", "`") + "\n\n"
        elif text.endswith(_FENCE):
            text = f"{text.removesuffix(_FENCE)}\n{textwrap.dedent(paragraph)}\n{_FENCE}"
        else:
            text += f"```py\n{textwrap.dedent(paragraph)}\n{_FENCE}"
    return text.strip()


def _arguments(args: ast.arguments) -> list[str]:
    plain = [*args.posonlyargs, *args.args]
    defaults = [None] * (len(plain) - len(args.defaults)) + list(args.defaults)
    parts = [
        _argument(arg, default)
        for arg, default in zip(plain, defaults, strict=True)
        if arg.arg not in ("self", "cls")
    ]
    if args.vararg:
        parts.append(f"*{_argument(args.vararg, None)}")
    elif args.kwonlyargs:
        parts.append("*")
    parts += [_argument(*it) for it in zip(args.kwonlyargs, args.kw_defaults, strict=True)]
    if args.kwarg:
        parts.append(f"**{_argument(args.kwarg, None)}")
    return parts


def _argument(arg: ast.arg, default: ast.expr | None) -> str:
    kind = "" if arg.annotation is None else ast.unparse(arg.annotation).replace("'", "")
    text = f"{arg.arg}: {kind}" if kind else arg.arg
    if default is None:
        return text
    return f"{text} = {ast.unparse(default)}" if kind else f"{text}={ast.unparse(default)}"


def _comments(source: str) -> tuple[dict[int, str], dict[int, str]]:
    """Return comments behind code, and comments on their own lines, by line number."""
    behind: dict[int, str] = {}
    alone: dict[int, str] = {}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and "noqa" not in token.string:
            text = token.string.removeprefix("#").strip()
            place = alone if token.line.strip().startswith("#") else behind
            place[token.start[0]] = text
    return behind, alone


def _source(thing: Any) -> str:
    return textwrap.dedent(inspect.getsource(thing))


def _body(source: str) -> list[ast.stmt]:
    [node] = ast.parse(source).body
    assert isinstance(node, ast.ClassDef)
    return node.body


def _named(node: ast.stmt) -> str:
    return node.name if isinstance(node, ast.FunctionDef) else ""
