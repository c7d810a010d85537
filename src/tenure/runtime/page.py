"""A page of memory that a keeper shares with one runner.

Stops must not queue behind data, and a runner that holds its interpreter's lock cannot answer: so
who is on the CPU and who is meant by an interrupt stand in shared memory.
"""

import mmap
import os

SIZE = 4096
_ON_CPU, _MEANT, _STAMP = range(3)


class Page:
    def __init__(self, descriptor: int) -> None:
        self._words = memoryview(mmap.mmap(descriptor, SIZE)).cast("q")

    @staticmethod
    def create(name: str) -> int:
        """A descriptor of a fresh page."""
        descriptor = os.memfd_create(name)
        os.ftruncate(descriptor, SIZE)
        return descriptor

    @property
    def words(self) -> memoryview:
        """The page itself, for the one place that cannot afford a property."""
        return self._words

    @property
    def on_cpu(self) -> int:
        """The run whose code is executed right now; 0 when none is."""
        return int(self._words[_ON_CPU])

    @on_cpu.setter
    def on_cpu(self, run: int) -> None:
        self._words[_ON_CPU] = run

    @property
    def meant(self) -> int:
        """The run that the next interrupt is for."""
        return int(self._words[_MEANT])

    @meant.setter
    def meant(self, run: int) -> None:
        self._words[_MEANT] = run

    @property
    def stamp(self) -> int:
        """When the runner's event loop last turned, in nanoseconds of CLOCK_MONOTONIC."""
        return int(self._words[_STAMP])

    @stamp.setter
    def stamp(self, moment: int) -> None:
        self._words[_STAMP] = moment
