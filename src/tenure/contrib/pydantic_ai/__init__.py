"""Agents of Pydantic AI as jobs: their model requests and tool calls are steps.

``Agent(..., capabilities=[TenureDurability()])``. Needs the extra ``pydantic-ai``.
"""

from tenure.contrib.pydantic_ai.backend import StepConfig
from tenure.contrib.pydantic_ai.durability import TenureDurability
from tenure.contrib.pydantic_ai.questions import Approval, AskPerson
from tenure.contrib.pydantic_ai.streaming import emit_text

__all__ = ["Approval", "AskPerson", "StepConfig", "TenureDurability", "emit_text"]
