"""The memory that a keeper shares with one runner.

A stop must not queue behind data, and a runner that holds its interpreter's lock cannot answer. So
shared memory holds the run that is on the CPU and the run that an interrupt is for.
"""

import mmap
import os

SIZE = 4096
_ON_CPU, _INTERRUPT_TARGET, _STAMP = range(3)


class SharedState:
    def __init__(self, descriptor: int) -> None:
        self._words = memoryview(mmap.mmap(descriptor, SIZE)).cast("q")

    @staticmethod
    def create(name: str) -> int:
        """Return a descriptor of new shared memory."""
        descriptor = os.memfd_create(name)
        os.ftruncate(descriptor, SIZE)
        return descriptor

    @property
    def words(self) -> memoryview:
        """The memory itself, for code on the hot path that cannot afford a property."""
        return self._words

    @property
    def on_cpu(self) -> int:
        """The run whose code is executing now; 0 if none is."""
        return int(self._words[_ON_CPU])

    @on_cpu.setter
    def on_cpu(self, run: int) -> None:
        self._words[_ON_CPU] = run

    @property
    def interrupt_target(self) -> int:
        """The run that the next interrupt is for."""
        return int(self._words[_INTERRUPT_TARGET])

    @interrupt_target.setter
    def interrupt_target(self, run: int) -> None:
        self._words[_INTERRUPT_TARGET] = run

    @property
    def stamp(self) -> int:
        """The last time the runner's event loop turned, in nanoseconds of CLOCK_MONOTONIC."""
        return int(self._words[_STAMP])

    @stamp.setter
    def stamp(self, nanoseconds: int) -> None:
        self._words[_STAMP] = nanoseconds
