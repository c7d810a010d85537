"""Secret parameters: those whose type contains a secret type of pydantic, at any depth."""

import dataclasses
from collections.abc import Iterable
from typing import Any, get_args, get_origin, get_type_hints

from pydantic import BaseModel, Secret, SecretBytes, SecretStr
from typing_extensions import is_typeddict


def hides(kind: Any) -> bool:
    """Tell whether a value of this type contains a secret."""
    met: list[Any] = []
    ahead = [kind]
    while ahead:
        kind = ahead.pop()
        if isinstance(kind, type) and issubclass(kind, SecretStr | SecretBytes | Secret):
            return True
        if not any(kind is known for known in met):
            met.append(kind)
            ahead += [get_origin(kind), *get_args(kind), *_parts(kind)]
    return False


def _parts(kind: Any) -> Iterable[Any]:
    """Return the types of its fields, or the type that it is another name for."""
    if not isinstance(kind, type):
        return [getattr(kind, name, None) for name in ("__value__", "__supertype__")]
    if issubclass(kind, BaseModel):
        kind.model_rebuild(raise_errors=False)
        return [field.annotation for field in kind.model_fields.values()]
    if dataclasses.is_dataclass(kind) or is_typeddict(kind) or hasattr(kind, "_fields"):
        try:
            return get_type_hints(kind, include_extras=True).values()
        except (NameError, TypeError):
            return ()  # pydantic reports it
    return ()
