"""Questions that jobs ask."""

from typing import Any

from pydantic import TypeAdapter
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

from tenure.domain.principal import Role
from tenure.domain.values import message_text, shown
from tenure.errors import InputRefused

_MAX_TEXT = 10_000  # characters


def question_of(schema: Any, text: str, role: str | None) -> dict[str, Any]:
    """Return a question as it is stored: its text, the JSON Schema of the answer, and the role."""
    if role is not None and role not in set(Role):
        raise InputRefused(f"role: it takes viewer, operator or admin, not {shown(role)}")
    try:
        described = TypeAdapter(schema).json_schema()
    except (PydanticUserError, PydanticSchemaGenerationError) as error:
        raise InputRefused(
            f"{shown(schema)} cannot be the type of an answer: {str(error).splitlines()[0]}"
        ) from None
    return {
        "text": message_text(text, "the question")[:_MAX_TEXT],
        "schema": described,
        "role": role,
    }
