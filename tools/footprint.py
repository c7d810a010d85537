"""Measure what an installation costs: ``make footprint``. Fail where a limit is exceeded.

Time is that of the processor in a fresh interpreter, the best of several runs, so that the load of
the machine matters little.
"""

import re
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement

RUNS = 9
MAX_SECONDS = 0.2  # for: from tenure import Tenure
MAX_MEGABYTES = 90.0  # of the package and its required dependencies

_CODE = """
import time
before = time.process_time()
{statement}
print(time.process_time() - before)
"""


def import_seconds(statement: str = "from tenure import Tenure") -> float:
    """Return the processor time of an import, without that of the interpreter."""
    command = [sys.executable, "-c", _CODE.format(statement=statement)]
    runs = (subprocess.run(command, check=True, capture_output=True) for _ in range(RUNS))  # noqa: S603
    return min(float(run.stdout) for run in runs)


def installed() -> dict[str, float]:
    """Return the megabytes of the package and of each distribution that it requires."""
    sizes: dict[str, float] = {"tenure": _size(Path(__file__).parent.parent / "src" / "tenure")}
    waiting = _required("tenure", set())
    while waiting:
        name, extras = waiting.popitem()
        if name in sizes:
            continue
        files = distribution(name).files or []
        paths = [Path(str(file.locate())) for file in files if "__pycache__" not in file.parts]
        sizes[name] = sum(path.stat().st_size for path in paths if path.is_file()) / 1e6
        waiting |= _required(name, extras)
    return sizes


def _size(folder: Path) -> float:
    files = (path for path in folder.rglob("*") if "__pycache__" not in path.parts)
    return sum(path.stat().st_size for path in files if path.is_file()) / 1e6


def _required(name: str, extras: set[str]) -> dict[str, set[str]]:
    """Return the requirements that hold here, each with its extras."""
    found: dict[str, set[str]] = {}
    for line in distribution(name).requires or []:
        wanted = Requirement(line)
        holds = wanted.marker is None or any(
            wanted.marker.evaluate({"extra": extra}) for extra in ("", *extras)
        )
        if holds:
            found[re.sub(r"[-_.]+", "-", wanted.name).lower()] = wanted.extras
    return found


def main() -> int:
    seconds, sizes = import_seconds(), installed()
    total = sum(sizes.values())
    largest = sorted(sizes.items(), key=lambda item: -item[1])[:6]
    print(f"from tenure import Tenure   {seconds:.3f} s   limit {MAX_SECONDS} s")  # noqa: T201
    names = ", ".join(f"{name} {size:.1f}" for name, size in largest)
    print(f"pip install tenure   {total:.1f} MB   limit {MAX_MEGABYTES:g} MB   ({names})")  # noqa: T201
    return int(seconds > MAX_SECONDS or total > MAX_MEGABYTES)


if __name__ == "__main__":
    sys.exit(main())
