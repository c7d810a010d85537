"""Commands with our layout of ``--help``, and without what typer imports to convert strings."""

from collections.abc import Iterable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from typer import BadParameter
from typer.core import TyperCommand, TyperGroup

from tenure.cli.options import SHARED

UsageError: Any = BadParameter.__base__

_MAX_EXAMPLES = 3  # of a group that has none of its own
MAX_WIDTH = 100  # columns; longer lines are hard to read
LAST = ("Running", "Jobs", "Control", "Maintenance", "Options", SHARED)

Row = tuple[str, str]


class HelpfulCommand(TyperCommand):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse an option that is given twice; the first would be ignored silently."""
        order: list[Any] = self.make_parser(ctx).parse_args(args=list(args))[2]
        options = [param for param in order if param.param_type_name == "option"]
        once = [param for param in options if not param.multiple and not param.is_flag]
        for param in once:
            if once.count(param) > 1:
                name = max(param.opts, key=len)
                raise UsageError(f"{name} is given {once.count(param)} times; give it once", ctx)
        _convert_sparingly(self.get_params(ctx))
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(_page(self, ctx))


def _convert_sparingly(params: Iterable[Any]) -> None:
    """Let parameters convert only what needs it.

    Typer converts even a string to a string, by pydantic, whose import takes longer than most
    commands.
    """
    for param in params:
        param.process_value = partial(_process, param)


def _process(param: Any, ctx: Any, value: Any) -> Any:
    if not _is_final(param, value):
        return type(param).process_value(param, ctx, value)
    if value is None and (param.multiple or param.nargs == -1):
        value = ()
    return value if param.callback is None else param.callback(ctx, param, value)


def _is_final(param: Any, value: Any) -> bool:
    if value is None or value is param.default:
        return not param.required
    annotation = getattr(getattr(param, "type_descriptor", None), "annotation", None)
    if annotation == list[str]:
        return isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)
    return annotation is str and isinstance(value, str)


class CommandGroup(TyperGroup):
    """A group of commands; its examples are those of its first commands, unless it has its own."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        if self.epilog is None:
            shown = islice(self.commands.values(), _MAX_EXAMPLES)
            self.epilog = "\n".join((child.epilog or "").split("\n")[0] for child in shown)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _convert_sparingly(self.get_params(ctx))
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(_page(self, ctx))

    def list_commands(self, _ctx: Any) -> list[str]:
        return list(self.commands)

    def panels(self) -> dict[str, list[Row]]:
        """Return the lists of commands, each with its first sentence, by their titles."""
        shown = [child for child in self.commands.values() if not child.hidden]
        return {"Commands": [(child.name or "", _first_sentence(child)) for child in shown]}


def _page(command: Any, ctx: Any) -> str:
    console = Console(markup=False, highlight=False, emoji=False)
    console.width = min(console.width, MAX_WIDTH)
    with console.capture() as page:
        console.print(Text.assemble(("Usage: ", "bold"), usage(command, ctx)))
        for paragraph in (command.help or "").split("\n\n"):
            console.print()
            console.print(" ".join(paragraph.split()))
        for title, rows in panels(command, ctx).items():
            console.print()
            console.print(Text(title, "bold"))
            console.print(_rows(rows))
        if command.epilog:
            console.print()
            console.print(Text("Examples", "bold"))
            for line in command.epilog.split("\n"):
                console.print(Text(f"  {line}"), soft_wrap=True)
    return "\n".join(line.rstrip() for line in page.get().splitlines())


def usage(command: Any, ctx: Any) -> str:
    """Return the syntax of a command: tenure job show JOB [OPTIONS]."""
    words = [ctx.command_path]
    words += [_argument(param) for param in _of(command, ctx, "argument")]
    words += ["COMMAND ..."] if isinstance(command, TyperGroup) else []
    return " ".join([*words, "[OPTIONS]"])


def panels(command: Any, ctx: Any) -> dict[str, list[Row]]:
    """Return the lists of the page by their titles."""
    found: dict[str, list[Row]] = {}
    for param in _of(command, ctx, "argument"):
        found.setdefault("Arguments", []).append((_argument(param), param.help or ""))
    if isinstance(command, CommandGroup):
        found |= command.panels()
    found["Options"] = []
    for param in _of(command, ctx, "option"):
        title = getattr(param, "rich_help_panel", None) or "Options"
        found.setdefault(title, []).append((_option(param), _option_help(param)))
    return dict(sorted(found.items(), key=lambda panel: _place(panel[0])))


def _place(title: str) -> int:
    """Return the position of a panel: shared options are last."""
    return LAST.index(title) if title in LAST else -1


def _of(command: Any, ctx: Any, kind: str) -> Iterable[Any]:
    return [
        param
        for param in command.get_params(ctx)
        if param.param_type_name == kind and not getattr(param, "hidden", False)
    ]


def _argument(param: Any) -> str:
    name = param.metavar or str(param.name).upper()
    name = f"{name}..." if param.nargs == -1 else name
    return name if param.required else f"[{name}]"


def _option(param: Any) -> str:
    names = ", ".join(sorted(param.opts, key=len))
    if param.secondary_opts:
        names = f"{names} / {', '.join(param.secondary_opts)}"
    return names if param.is_flag else f"{names} {param.metavar or 'TEXT'}"


def _option_help(param: Any) -> str:
    """Return the help of an option, with its default: Maximum number to show (default: 10)."""
    text, default = param.help or "", param.default
    if param.is_flag or param.required or not isinstance(default, str | int | Path):
        return text
    return f"{text.removesuffix('.')} (default: {default})."


def _first_sentence(command: Any) -> str:
    return " ".join((command.help or "").split("\n\n")[0].split())


def _rows(rows: list[Row]) -> Padding:
    table = Table.grid(padding=(0, 3, 0, 0))
    table.add_column(no_wrap=True, style="cyan")
    table.add_column()
    for left, right in rows:
        table.add_row(Text(left), Text(right))
    return Padding(table, (0, 0, 0, 2))
