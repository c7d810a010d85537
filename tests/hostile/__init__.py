"""Hostile code cannot outlive its stop, and ordinary libraries' habits cost nobody anything.

Each kind of code is a small function in `tests/apps/hostile/`; CATALOGUE.md lists them all. A
scenario is a kind in one executor and one way to end: a graceful stop, a forced stop, or plain
completion. Scenarios run beside each other in one worker, each in a tenant of its own, so that each
has runners of its own, and always with neighbours in those runners.

What is asserted is seen from outside: the time of the last line that the code appended to its file
(every 20 ms while it is alive) against `cancelled_at` in the database, the kernel's list of
processes and threads, open ports, and how often the neighbours began.

To add a kind:

1. Write a function that takes `here` and leaves something behind, in the module of what it leaves;
   a coroutine function if it needs the event loop. What it leaves calls `here.beat()` every 20 ms,
   or runs `here.beater()` as a program; what cannot beat is recorded with `here.name_thread`.
   It must end by itself within AT_MOST seconds.
2. Decorate it with `@kind(group, executors)`; the first line of its docstring is its description.
   `attributed=True` if the runner must know whose it is, so that no neighbour is released for it.
3. Run `python -m tests.hostile.catalogue`, which writes CATALOGUE.md.
"""
