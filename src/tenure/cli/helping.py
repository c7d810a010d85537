"""How ``--help`` looks: usage, what it does, arguments, options, commands, examples."""

from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from typer import BadParameter
from typer.core import TyperCommand, TyperGroup

UsageError: Any = BadParameter.__base__

LONGEST = 100  # columns; longer lines are hard to read
LAST = ("Running", "Jobs", "Who and how", "Looking after it", "Options", "On every command")

Row = tuple[str, str]


class Command(TyperCommand):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse an option that is given twice: the first of them would be ignored silently."""
        order: list[Any] = self.make_parser(ctx).parse_args(args=list(args))[2]
        options = [it for it in order if it.param_type_name == "option"]
        once = [it for it in options if not it.multiple and not it.is_flag]
        for param in once:
            if once.count(param) > 1:
                name = max(param.opts, key=len)
                raise UsageError(f"{name} is given {once.count(param)} times; give it once", ctx)
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(_page(self, ctx))


class Group(TyperGroup):
    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(_page(self, ctx))


def _page(command: Any, ctx: Any) -> str:
    console = Console(markup=False, highlight=False, emoji=False)
    console.width = min(console.width, LONGEST)
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
    """How it is written: tenure job show JOB [OPTIONS]."""
    words = [ctx.command_path]
    words += [_argument(param) for param in _of(command, ctx, "argument")]
    words += ["COMMAND ..."] if isinstance(command, TyperGroup) else []
    return " ".join([*words, "[OPTIONS]"])


def panels(command: Any, ctx: Any) -> dict[str, list[Row]]:
    """The parts of the page that are lists, by their titles."""
    found: dict[str, list[Row]] = {}
    for param in _of(command, ctx, "argument"):
        found.setdefault("Arguments", []).append((_argument(param), param.help or ""))
    if isinstance(command, TyperGroup):
        listed = [command.get_command(ctx, name) for name in command.list_commands(ctx)]
        for one in listed:
            if one is not None and not one.hidden:
                title = getattr(one, "rich_help_panel", None) or "Commands"
                found.setdefault(title, []).append((one.name or "", _first_sentence(one)))
    found["Options"] = []
    for param in _of(command, ctx, "option"):
        title = getattr(param, "rich_help_panel", None) or "Options"
        found.setdefault(title, []).append((_option(param), param.help or ""))
    return dict(sorted(found.items(), key=lambda panel: _place(panel[0])))


def _place(title: str) -> int:
    """Typer lists groups after commands; what all commands share comes last."""
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


def _first_sentence(command: Any) -> str:
    return " ".join((command.help or "").split("\n\n")[0].split())


def _rows(rows: list[Row]) -> Padding:
    table = Table.grid(padding=(0, 3, 0, 0))
    table.add_column(no_wrap=True, style="cyan")
    table.add_column()
    for left, right in rows:
        table.add_row(Text(left), Text(right))
    return Padding(table, (0, 0, 0, 2))
