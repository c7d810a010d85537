"""Run one kind as a program: `python -m tests.apps.hostile.command FOLDER NUMBER KIND STAYS`."""

import os
import sys
import time

from tests.apps.hostile.beats import Here, append
from tests.apps.hostile.kinds import all_kinds


def main() -> None:
    folder, number, kind, stays = sys.argv[1:]
    here = Here(folder, int(number))
    all_kinds()[kind].code(here)
    if all_kinds()[kind].beats:
        here.wait_for_beats()
    append(here.readiness, str(os.getpid()))
    if stays == "True":
        time.sleep(3600)


if __name__ == "__main__":
    main()
