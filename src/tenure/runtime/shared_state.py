"""The memory that a keeper shares with one runner.

A stop must not queue behind data, and a runner that holds its interpreter's lock cannot answer. So
shared memory holds the run that is on the CPU and the run that an interrupt is for.
"""

import mmap
import os

SIZE = 4096


class _Word:
    """One number in the shared memory, as an attribute."""

    def __init__(self, place: int) -> None:
        self._place = place

    def __get__(self, state: "SharedState", _kind: type) -> int:
        return int(state.words[self._place])

    def __set__(self, state: "SharedState", value: int) -> None:
        state.words[self._place] = value


class SharedState:
    on_cpu = _Word(0)  # the run whose code is executing now; 0 if none is
    interrupt_target = _Word(1)  # the run that the next interrupt is for
    stamp = _Word(2)  # when the runner's event loop last turned, nanoseconds of CLOCK_MONOTONIC

    def __init__(self, descriptor: int) -> None:
        self.words = memoryview(mmap.mmap(descriptor, SIZE)).cast("q")

    @staticmethod
    def create(name: str) -> int:
        """Return a descriptor of new shared memory."""
        descriptor = os.memfd_create(name)
        os.ftruncate(descriptor, SIZE)
        return descriptor
