"""The numbers of a process that are read together."""

from typing import NamedTuple


class Stat(NamedTuple):
    """The fields of /proc/<pid>/stat; the state is that of the main thread alone."""

    name: str
    state: str
    parent: int
    session: int
    threads: int
    began: int  # ticks since the machine started; unique together with the pid
