"""Templates: strings with the names of parameters in them, such as ``site:{site}``."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from decimal import Decimal
from string import Formatter
from typing import Self

from tenure.domain.job import JSON
from tenure.domain.values import shown
from tenure.errors import InputRefused, SettingInvalid


@dataclass(frozen=True)
class Template:
    """A string that is filled with arguments.

    It contains plain names only. Attributes, indices and formats would let its author, or a
    caller, reach into Python.
    """

    text: str
    parts: tuple[tuple[str, str | None], ...]  # a text, and the parameter that follows it

    @classmethod
    def read(cls, text: object) -> Self:
        if not isinstance(text, str) or not text:
            raise SettingInvalid(f"it takes a text such as 'site:{{site}}', not {shown(text)}")
        try:
            parsed = list(Formatter().parse(text))
        except ValueError as error:
            raise SettingInvalid(
                f"{shown(text)} is not a template ({error}); write '{{{{' for a brace"
            ) from None
        for _, field, form, conversion in parsed:
            if field is not None and (not field.isidentifier() or form or conversion):
                whole = field + (f"!{conversion}" if conversion else "") + (f":{form}" * bool(form))
                raise SettingInvalid(
                    f"'{{{whole}}}' in {shown(text)} is not the plain name of a parameter"
                )
        return cls(text, tuple((literal, field) for literal, field, _, _ in parsed))

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(field for _, field in self.parts if field is not None))

    def refuse_unknown(self, parameters: Collection[str]) -> None:
        for field in self.fields:
            if field not in parameters:
                known = ", ".join(parameters) or "no parameters at all"
                raise SettingInvalid(
                    f"{shown(self.text)} names {shown(field)}, and the task function takes {known}"
                )

    def fill(self, values: Mapping[str, JSON]) -> str:
        """Return the text with these JSON values in it; a refusal shows none of them."""
        return "".join(
            literal + ("" if field is None else self._text(field, values.get(field)))
            for literal, field in self.parts
        )

    def _text(self, field: str, value: JSON) -> str:
        match value:
            case bool():
                return "true" if value else "false"
            case str() | int():
                return str(value)
            case float():
                return _in_digits(value)
        kind = "nothing" if value is None else "a list" if isinstance(value, list) else "an object"
        raise InputRefused(f"{self.refusal(field)}, and that is {kind}")

    def refusal(self, field: str) -> str:
        """Return the beginning of the sentence for an argument that does not fit."""
        return f"{shown(self.text)} takes a text or a number for {shown(field)}"


def _in_digits(number: float) -> str:
    """Return a number without an exponent, as the database writes it: it fills templates too."""
    exact = Decimal(repr(number))
    return f"{exact if exact else abs(exact):f}"
