"""Run the guard: `python -I -S <this folder> ...`, as the keeper does."""

import importlib
import sys

here = sys.path.pop(0)
# Last, not first: nothing next to this folder may replace a standard module.
sys.path.append(here.rpartition("/")[0])
importlib.import_module("guard.program").main(sys.argv[1:])
