"""Benchmarks of Tenure. ``python -m bench.store`` measures the store beside a bare table.

One JSON line per figure goes to standard output:

``figure``   what was measured
``value``    in ``unit``; the median of its rounds where a figure has several
``against``  the figure of the same run that it is compared with; it has a line of its own
``ratio``    ``value`` divided by the value of ``against``
``goal``     for the ratio where there is one, for the value otherwise; null: only to be known
``met``      whether the goal was reached; the exit code is 1 when one was missed

Only ratios mean something elsewhere: rounds of a figure and of what it is compared with take turns
on the same server in the same run, and client and server share the machine. fsync and
synchronous_commit are on. Differences under 25 % between two runs are noise.
"""
