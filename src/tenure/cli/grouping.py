"""How commands stand together: groups, their examples, and what becomes of an error."""

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import typer

from tenure.cli.helping import Command, Group, UsageError
from tenure.cli.leading import behind_command
from tenure.cli.printing import fail, report
from tenure.config import PREFIX
from tenure.domain.values import storable_text
from tenure.errors import InputRefused, TenureError


class Program(Group):
    """The command itself; a user's mistake ends it with a sentence, not with a traceback."""

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **how: Any
    ) -> Any:
        words = list(sys.argv[1:] if args is None else args)
        json = "--json" in words
        try:
            _refuse_unreadable(words)
            words = behind_command(self, words)
            code = super().main(words, prog_name, **{**how, "standalone_mode": False})
        except TenureError as error:
            fail(error, json=json)
        except UsageError as error:
            code = error.exit_code
            if type(error).__name__ == "NoArgsIsHelpError":
                error.show()
            else:
                said = error.format_message().rstrip(".?").replace(". D", "; d")
                hint = f"; see {error.ctx.command_path} --help" if error.ctx else ""
                report("UsageError", f"{said[0].lower()}{said[1:]}{hint}", json=json)
        except RecursionError:
            fail(InputRefused("what was given is nested too deep"), json=json)
        except OverflowError:
            fail(InputRefused("a number or a length of time is too large"), json=json)
        except typer.Abort:
            code = 1
        sys.exit(code or 0)


def _refuse_unreadable(words: Sequence[str]) -> None:
    """Refuse bytes that are not UTF-8, which Python keeps as surrogates.

    The text itself is not shown: it may be a token, or a URL with a password.
    """
    typed = {f"argument {place}": word for place, word in enumerate(words, 1)}
    ours = {name: value for name, value in os.environ.items() if name.startswith(PREFIX)}
    for name, value in {**typed, **ours}.items():
        if storable_text(value) != value:
            raise InputRefused(f"{name} holds bytes that are not UTF-8")


def group(
    name: str, said: str, *examples: str, cls: type[Group] = Group, **more: Any
) -> typer.Typer:
    """Commands under one word."""
    return typer.Typer(
        name=name,
        help=said,
        epilog="\n".join(examples) or None,
        cls=cls,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        **more,
    )


def command(
    of: typer.Typer, name: str, *examples: str, **more: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a command of a function, with these lines as its examples."""
    return of.command(name, cls=Command, epilog="\n".join(examples), **more)
