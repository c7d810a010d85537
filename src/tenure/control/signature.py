"""The parameters and the result of a task function, read from its annotations."""

import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any, NoReturn, get_type_hints

import msgspec
from pydantic.fields import FieldInfo

from tenure.control.secrets import hides
from tenure.control.shape import Mistakes, Shape
from tenure.domain.job import JSON
from tenure.domain.values import shown
from tenure.errors import InputRefused, SettingInvalid

CONTEXT = "tenure.runtime.context.Context"  # lives above this layer, so it is known by its name
_RESULT = "the result"


class Signature:
    """The parameters of a task function by name, without the context, and its result.

    Arguments are stored by name, so there are no ``*args``, ``**kwargs`` or positional-only
    parameters. What a caller leaves out is not stored: the code that runs the job has the default.
    The values of ``secrets`` are stored, and shown to nobody but that code.
    """

    def __init__(
        self,
        types: Mapping[str, Any],
        *,
        defaults: Mapping[str, Any] | None = None,
        positional: Sequence[str] = (),
        takes_context: bool = False,
        returns: Any = Any,
    ) -> None:
        self.types = types
        self.defaults = defaults or {}
        self.positional = positional
        self.takes_context = takes_context
        self._returns = returns
        self.secrets = tuple(name for name, kind in types.items() if hides(kind))
        self._arguments = _shape(types, self.defaults, self.secrets)
        self._result = _shape({_RESULT: returns}, {})

    @classmethod
    def of(cls, function: Callable[..., Any]) -> "Signature":
        if not isinstance(function, FunctionType):
            raise SettingInvalid(
                f"{shown(function)} is not a function written with def or async def"
            )
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise SettingInvalid(
                "it yields; a task function returns its result, and gives parts of it with ctx.emit"
            )
        hints = _hints(function)
        parameters = list(inspect.signature(function).parameters.values())
        takes_context = bool(parameters) and _is_context(hints.get(parameters[0].name))
        _refuse_odd(parameters, hints)
        taken = parameters[takes_context:]
        return cls(
            {p.name: hints.get(p.name, Any) for p in taken},
            defaults={p.name: p.default for p in taken if p.default is not inspect.Parameter.empty},
            positional=[p.name for p in taken if p.kind is p.POSITIONAL_OR_KEYWORD],
            takes_context=takes_context,
            returns=None if hints.get("return") is NoReturn else hints.get("return", Any),
        )

    def write_arguments(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bytes:
        """Return the arguments of a call as JSON, by name."""
        if not (self.types or args or kwargs):
            return b"{}"
        mistakes = []
        if len(args) > len(self.positional):
            mistakes.append(
                f"it takes {len(self.positional)} arguments by position, not {len(args)}"
            )
        given = dict(zip(self.positional, args, strict=False))
        for name, value in kwargs.items():
            if name in given:
                mistakes.append(f"{name} is given twice")
            elif name not in self.types:
                known = ", ".join(self.types) or "nothing"
                mistakes.append(f"there is no parameter {shown(name)}; it takes {known}")
            else:
                given[name] = value
        try:
            text = self._arguments.write(given)
        except Mistakes as wrong:
            mistakes.append(str(wrong))
        if mistakes:
            raise InputRefused("; ".join(mistakes))
        return text

    def write_many(self, calls: Sequence[Mapping[str, Any] | Sequence[Any]]) -> bytes | None:
        """Return the arguments of calls as a JSON list; None if each must be checked by itself."""
        given = []
        for call in calls:
            if type(call) is dict:  # a subclass may behave differently
                given.append(call)
            elif isinstance(call, list | tuple) and len(call) <= len(self.positional):
                given.append(dict(zip(self.positional, call, strict=False)))
            else:
                return None
        return self._arguments.write_many(given)

    def read_arguments(self, args: Mapping[str, JSON] | bytes) -> dict[str, Any]:
        """Return the arguments as the function takes them."""
        if not self.types and args in ({}, b"{}"):
            return {}
        text = args if isinstance(args, bytes) else msgspec.json.encode(args)
        try:
            return self._arguments.read(text)
        except Mistakes as wrong:
            raise InputRefused(str(wrong)) from None

    def default_of(self, name: str) -> JSON:
        """Return a default as JSON."""
        try:
            text = Shape({name: self.types[name]}).write({name: self.defaults[name]})
        except Mistakes:
            return None
        return msgspec.json.decode(text)[name]

    def json_schema(self) -> dict[str, JSON] | None:
        """Return the JSON Schema of the arguments, with the defaults; none if they have none."""
        schema = self._arguments.json_schema()
        if schema is not None:
            for name, field in schema.get("properties", {}).items():
                field.pop("default", None)
                if name in self.defaults and name not in self.secrets:
                    field["default"] = self.default_of(name)
        return schema

    def write_result(self, value: Any) -> JSON:
        """Return the result of the function as JSON."""
        if value is None and self._returns in (None, Any):
            return None
        try:
            return msgspec.json.decode(self._result.write({_RESULT: value}))[_RESULT]
        except Mistakes as wrong:
            raise InputRefused(str(wrong)) from None
        except msgspec.DecodeError:
            raise InputRefused("a number in it is not finite, which no JSON number is") from None

    def read_result(self, value: JSON) -> Any:
        try:
            return self._result.read(msgspec.json.encode({_RESULT: value}))[_RESULT]
        except Mistakes as wrong:
            raise InputRefused(str(wrong)) from None

    def __str__(self) -> str:
        """Return the same text for the same signature in every process."""
        taken = ", ".join(
            f"{name}: {kind!r}{' = ...' if name in self.defaults else ''}"
            for name, kind in self.types.items()
        )
        return re.sub(r" at 0x[0-9a-f]+", "", taken)


def name_of(function: Callable[..., Any]) -> str:
    """Return the name of a task: where its function is found.

    A module that is run as a program is ``__main__``; workers import it by its name.
    """
    module, name = function.__module__, function.__qualname__
    if "<lambda>" in name:
        raise SettingInvalid("a lambda has no name; give one with name=")
    if module == "__main__":
        main = sys.modules["__main__"]
        spec, file = getattr(main, "__spec__", None), getattr(main, "__file__", None)
        module = spec.name if spec is not None else Path(file).stem if file else module
    return f"{module}.{name}"


def _shape(
    types: Mapping[str, Any], defaults: Mapping[str, Any], secrets: Sequence[str] = ()
) -> Shape:
    try:
        return Shape(types, defaults, secrets)
    except SettingInvalid:
        for name, kind in types.items():
            try:
                Shape({name: kind})
            except SettingInvalid as why:
                raise SettingInvalid(f"{name} cannot be written as JSON: {why}") from None
        raise


def _hints(function: FunctionType) -> dict[str, Any]:
    try:
        hints = get_type_hints(function, include_extras=True)
    except (NameError, TypeError, SyntaxError) as error:
        raise SettingInvalid(
            f"its annotations cannot be resolved ({error}); what they name must be importable "
            f"when the module is"
        ) from None
    if hints.get("return") is type(None):
        hints["return"] = None
    return hints


def _is_context(kind: Any) -> bool:
    return isinstance(kind, type) and f"{kind.__module__}.{kind.__qualname__}" == CONTEXT


def _refuse_odd(parameters: Sequence[inspect.Parameter], hints: Mapping[str, Any]) -> None:
    for place, parameter in enumerate(parameters):
        name, kind, hint = parameter.name, parameter.kind, hints.get(parameter.name)
        if kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            stars = "*" if kind is parameter.VAR_POSITIONAL else "**"
            raise SettingInvalid(
                f"it takes {stars}{name}; arguments are stored by name, so name each of them"
            )
        if _is_context(hint):
            if place > 0 or kind is parameter.KEYWORD_ONLY:
                raise SettingInvalid(f"{name} is a Context, which can only be the first parameter")
            continue
        if kind is parameter.POSITIONAL_ONLY:
            raise SettingInvalid(f"{name} is positional-only; arguments are passed by name")
        if place == 0 and hint is None and name in ("self", "cls"):
            raise SettingInvalid("it is a method; a task function stands on its own")
        if place == 0 and hint is None and name in ("ctx", "context"):
            raise SettingInvalid(f"{name} has no annotation; write {name}: Context")
        if isinstance(parameter.default, FieldInfo):
            raise SettingInvalid(
                f"{name} has a Field as its default; write {name}: Annotated[..., Field(...)]"
            )
