"""Blocks of a job's code that hold something: ``with`` in a function, ``async with`` in a loop."""

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from tenure.runtime.runner.attempt import Attempt
from tenure.runtime.steps.effects import Work, aperform, perform

T = TypeVar("T")


class Block(ABC, Generic[T]):
    """Something that is requested when a block begins, and given up when it ends."""

    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt

    @abstractmethod
    def _enter(self) -> Work[T]:
        """Request it, and return the target of the block."""

    @abstractmethod
    def _leave(self, error: BaseException | None) -> None:
        """Give it up; ``error`` is what ended the block, if anything did."""

    def __enter__(self) -> T:
        return perform(self._attempt, self._enter())

    async def __aenter__(self) -> T:
        return await aperform(self._attempt, self._enter())

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        self._leave(error)

    async def __aexit__(self, _: object, error: BaseException | None, __: object) -> None:
        self._leave(error)
