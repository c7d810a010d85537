"""The program and its command groups, with their examples and error messages."""

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import typer

from tenure.cli.help import CommandGroup, HelpfulCommand, UsageError
from tenure.cli.output import fail, report
from tenure.config import PREFIX
from tenure.domain.values import storable_text
from tenure.errors import InputRefused, TenureError

# Options that may precede the command (``tenure --url URL job list``), and whether a value follows.
COMMON = {
    "--url": True,
    "--tenant": True,
    "--token": True,
    "--json": False,
    "--verbose": False,
    "-v": False,
}


class Program(CommandGroup):
    """The command ``tenure``; it reports a user's mistake in a sentence, without a traceback."""

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
                message = error.format_message().rstrip(".?").replace(". D", "; d")
                hint = f"; see {error.ctx.command_path} --help" if error.ctx else ""
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
    name: str, text: str, *examples: str, cls: type[CommandGroup] = CommandGroup
) -> typer.Typer:
    """Return a group of commands under one name."""
    return typer.Typer(
        name=name,
        help=text,
        epilog="\n".join(examples) or None,
        cls=cls,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )


def command(
    parent: typer.Typer, name: str, *examples: str, **more: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a command of a function, with these lines as its examples in the help."""
    return parent.command(name, cls=HelpfulCommand, epilog="\n".join(examples), **more)
