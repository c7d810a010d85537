"""The program and its command groups, with their examples and error messages."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

import typer

from tenure.cli.help import CommandGroup, HelpfulCommand, Row, UsageError
from tenure.cli.output import fail, report
from tenure.config import PREFIX
from tenure.domain.values import storable_text
from tenure.errors import UNIX_MODULES, InputRefused, TenureError

# Options that may precede the command (``tenure --url URL job list``), and whether a value follows.
COMMON = {
    "--url": True,
    "--tenant": True,
    "--token": True,
    "--json": False,
    "--verbose": False,
    "-v": False,
}


# The commands by panel, each with its sentence, so that the help of the program imports none of
# their modules.
PANELS = {
    "Running": {
        "up": "Start a database, a worker and the REST API together, until SIGTERM or Ctrl-C.",
        "serve": "Serve the REST API until SIGTERM or Ctrl-C; every request needs a token.",
        "mcp": "Serve the tasks of an app as tools of the Model Context Protocol (MCP).",
        "migrate": "Bring the database schema up to date; safe to run concurrently.",
        "worker": "Run workers, list them, and ask one to exit.",
    },
    "Jobs": {
        "job": "Enqueue, show, stop and resume jobs.",
        "task": "List, show and announce tasks.",
        "queue": "List, pause and resume queues.",
        "target": "List, unblock, pause and resume targets.",
        "schedule": "List, pause, resume and run schedules.",
        "limit": "Set limits: how much in an interval, and how many at once; close and open them.",
        "pool": "Create, list and change pools and their slots.",
    },
    "Control": {
        "audit": "Show who changed what and why, including refused requests, newest first.",
        "tenant": "Create, list, pause, resume and drop tenants.",
        "token": "Create, list and revoke tokens.",
        "webhook": "Send signed HTTP requests to your endpoints when jobs end, pause or ask.",
        "policy": "Set rules that stop jobs: too old, too expensive, superseded.",
        "strategy": "Name sets of stop options, for tenure job cancel --strategy.",
    },
    "Maintenance": {
        "stats": "Count jobs by status, jobs that ended recently, or the newest jobs of tasks.",
        "top": "Show queues, running jobs, stops and workers, live; q quits.",
        "doctor": "Check the database, the workers and the jobs, and suggest what to do about "
        "problems.",
        "recover": "Declare workers with an expired lease dead, and take back their jobs.",
    },
}
SENTENCES = {name: text for panel in PANELS.values() for name, text in panel.items()}


class LazyCommands(Mapping[str, Any]):
    """Commands by name, each made when it is first used."""

    def __init__(self, names: Iterable[str], make: Callable[[str], Any]) -> None:
        self._made: dict[str, Any] = dict.fromkeys(names)
        self._make = make

    def __getitem__(self, name: str) -> Any:
        if self._made[name] is None:
            self._made[name] = self._make(name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)


class Program(CommandGroup):
    """The command ``tenure``; it reports a user's mistake in a sentence, without a traceback."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "commands": LazyCommands(SENTENCES, _load)})

    def panels(self) -> dict[str, list[Row]]:
        return {title: list(sentences.items()) for title, sentences in PANELS.items()}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Suggest ``tenure job cancel`` for ``tenure cancel``."""
        name = args[0]
        if name not in self.commands and name in getattr(self.commands["job"], "commands", ()):
            ctx.fail(f"No such command '{name}'. Did you mean 'job {name}'?")
        return super().resolve_command(ctx, args)

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **options: Any
    ) -> Any:
        words = list(sys.argv[1:] if args is None else args)
        json = "--json" in words
        try:
            _refuse_unreadable(words)
            words = _move_behind_command(self, words)
            code = super().main(words, prog_name, **{**options, "standalone_mode": False})
        except TenureError as error:
            fail(error, json=json)
        except UsageError as error:
            code = error.exit_code
            if type(error).__name__ == "NoArgsIsHelpError":
                error.show()
            else:
                message = error.format_message().rstrip(".").replace(". D", "; d")
                hint = f" See {error.ctx.command_path} --help" if error.ctx else ""
                hint = hint if message.endswith("?") else hint.replace(" S", "; s", 1)
                report("UsageError", f"{message[0].lower()}{message[1:]}{hint}", json=json)
        except RecursionError:
            fail(InputRefused("the input is nested too deep"), json=json)
        except OverflowError:
            fail(InputRefused("a number or a duration is too large"), json=json)
        except typer.Abort:
            code = 1
        sys.exit(code or 0)


def _refuse_unreadable(words: Sequence[str]) -> None:
    """Refuse bytes that are not UTF-8, which Python keeps as surrogates.

    Do not quote them: they may be a token, or a URL with a password.
    """
    arguments = {f"argument {place}": word for place, word in enumerate(words, 1)}
    settings = {name: value for name, value in os.environ.items() if name.startswith(PREFIX)}
    for name, value in {**arguments, **settings}.items():
        if storable_text(value) != value:
            raise InputRefused(f"{name} holds bytes that are not UTF-8")


def _move_behind_command(program: Any, words: Sequence[str]) -> list[str]:
    """Return the words with common options moved behind the command, which may refuse them."""
    left, path, moved = list(words), [], []
    group = program
    while left:
        name, sign, _ = left[0].partition("=")
        if name in COMMON:
            length = 2 if COMMON[name] and not sign else 1
            moved += left[:length]
            del left[:length]
        elif left[0].startswith("-"):
            break
        else:
            path.append(left.pop(0))
            group = getattr(group, "commands", {}).get(path[-1])
            if not hasattr(group, "commands"):
                break
    return [*path, *moved, *left] if path else left or list(words)


def group(
    name: str, *examples: str, text: str = "", cls: type[CommandGroup] = CommandGroup
) -> typer.Typer:
    """Return a group of commands under one name."""
    return typer.Typer(
        name=name,
        help=text or SENTENCES[name],
        epilog="\n".join(examples) or None,
        cls=cls,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )


def command(
    parent: typer.Typer, name: str, *examples: str
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a command of a function, with these lines as its examples in the help."""
    return parent.command(name, cls=HelpfulCommand, epilog="\n".join(examples))


def single(name: str, function: Callable[..., None], *examples: str) -> Any:
    """Return a command that is made when it is needed."""
    parent = typer.Typer(add_completion=False, rich_markup_mode=None)
    command(parent, name, *examples)(function)
    return typer.main.get_command(parent)


def _load(name: str) -> Any:
    """Return a command or a group of the program, from its module."""
    try:
        module = import_module(f"tenure.cli.{name}")
    except ModuleNotFoundError as error:
        if error.name not in UNIX_MODULES:
            raise
        raise TenureError(f"tenure {name} needs Linux or macOS, not {sys.platform}") from None
    if hasattr(module, "commands"):
        return typer.main.get_group(module.commands)
    return single(name, getattr(module, name), *module.EXAMPLES)
